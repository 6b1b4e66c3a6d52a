"""Why normalize at all: whitening, saturation, what is lost outside the gradient, style, and where schemes come from."""
