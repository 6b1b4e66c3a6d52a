"""Step size: layer norm in space, and the effective learning rate."""
