"""Custom page elements: each has its Python, JavaScript and CSS."""
