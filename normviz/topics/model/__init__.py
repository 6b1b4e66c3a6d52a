"""A model of the user: the report on its normalizations, and the activations that enter them."""
