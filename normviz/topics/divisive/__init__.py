"""Divisive normalization."""
