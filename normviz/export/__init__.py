"""States of pages as files to take home: Python scripts and notebooks that print the numbers of the page."""
