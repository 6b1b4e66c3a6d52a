"""Work outside a page: what a job is, where it runs, who asked for it, and what is kept of it."""
