"""The script of each page: a function from the values of the page to a script of the public library."""
