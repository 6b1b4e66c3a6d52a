"""Stacks of small networks that train side by side."""
