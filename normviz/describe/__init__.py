"""A scheme in words, in LaTeX, in code."""
