"""Table 1 of Ba et al. 2016: predicted, measured in a forward pass, and trained."""
