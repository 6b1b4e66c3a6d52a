"""Why normalize at all: whitening, saturation, normalizing outside the gradient, style, and all schemes."""
