"""Reasons to normalize: learning, saturation, whitening, normalizing outside the gradient, style, and all schemes."""
