"""Which solver trains a model: by its name, or chosen by the problem."""
