"""Several schemes on one tensor."""
