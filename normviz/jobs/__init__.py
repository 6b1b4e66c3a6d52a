"""Work outside a page."""
