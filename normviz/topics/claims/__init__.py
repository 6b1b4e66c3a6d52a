"""What the sources say, checked: every claim with the measurement that supports, limits or refutes it.

Above the other topics, as it asks each of them for what it has measured.
"""
