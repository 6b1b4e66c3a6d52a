"""Tools for classes: lessons that are played beside the pages, and classes that answer."""
