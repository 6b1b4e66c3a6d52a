"""Table 1 of Ba et al. 2016: what each scheme is invariant to, predicted, measured forward and proved by training."""
