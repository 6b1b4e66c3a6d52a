"""What runs in the browser: ES modules and styles, served as they are."""
