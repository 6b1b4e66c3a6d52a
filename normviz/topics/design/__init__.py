"""Search for the schemes that have given invariances."""
