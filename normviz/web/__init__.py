"""ES modules and styles that run in the browser, and the Python that serves them."""
