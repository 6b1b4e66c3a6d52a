"""Claims of the sources, each with the measurement that supports, limits or refutes it.

This topic may import all others, since its checks use their measurements.
"""
