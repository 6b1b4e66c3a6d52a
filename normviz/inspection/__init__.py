"""Inspection of PyTorch models: which normalizations they contain, found by probing."""
