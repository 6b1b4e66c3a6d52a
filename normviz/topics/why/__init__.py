"""Reasons to normalize: learning, saturation, whitening, normalizing outside the gradient, and all schemes."""
