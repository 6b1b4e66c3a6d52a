"""The topics, a folder each: what a page shows, its state and its controls."""
