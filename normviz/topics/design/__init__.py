"""The other way round: from the invariances that are wanted to the schemes that have them."""
