"""The records of the claims, each beside the check that measures it; a module for every topic of theirs."""
