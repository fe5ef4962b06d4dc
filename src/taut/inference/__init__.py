"""Inference on arrays of scores; knows no model."""
