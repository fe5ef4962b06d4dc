"""Yu & Rousu (2007), A method for large margin parameter optimization in structured prediction."""
