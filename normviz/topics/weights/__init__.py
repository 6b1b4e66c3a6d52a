"""Weight normalization: weight norm and spectral norm."""
