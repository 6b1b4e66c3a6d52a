"""Tensors to look at, the handwritten digits, and reading one's own files."""
