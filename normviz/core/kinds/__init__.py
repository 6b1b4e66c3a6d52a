"""Kinds of schemes, by what divides: a root mean square, a singular value, a matrix, or nothing but a function."""
