"""Stacks of small networks that are trained at the same time."""
