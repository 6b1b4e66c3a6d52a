"""Panels of the page "Find a scheme": the answers to a question, and one answer in full."""
