"""Step size: layer norm in space, the effective learning rate, and the Fisher information."""
