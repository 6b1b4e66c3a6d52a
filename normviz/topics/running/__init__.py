"""Batch norm in training and in inference."""
