"""Step size: layer norm in space, the effective learning rate, distance between predictions, loss slices."""
