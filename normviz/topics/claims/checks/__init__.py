"""The claims and the checks that measure them, one module per topic."""
