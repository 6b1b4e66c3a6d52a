"""Normalized weights."""
