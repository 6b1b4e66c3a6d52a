"""Which normalizations are the same."""
