"""Jobs that run outside the page: their specification, queue, workers and cached results."""
