"""Experiments that test the papers' claims on small real data; one small module each."""
