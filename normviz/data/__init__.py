"""Sample tensors, the handwritten digits, and reading of users' files."""
