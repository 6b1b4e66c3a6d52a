"""The classroom: lessons that are played beside the pages."""
