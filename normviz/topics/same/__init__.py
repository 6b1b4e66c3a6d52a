"""Same or different? Pairs of normalizations, the variants of layer norm, and a detector of layers."""
