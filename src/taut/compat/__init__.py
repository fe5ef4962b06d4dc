"""Other programs' models and interfaces, read and answered by taut."""
