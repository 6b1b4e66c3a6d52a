"""Tensors to look at, and the handwritten digits."""
