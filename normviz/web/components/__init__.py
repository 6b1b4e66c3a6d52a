"""Elements of the page of our own: each its Python, JavaScript and CSS."""
