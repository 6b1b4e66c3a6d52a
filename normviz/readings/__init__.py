"""Which layer norm? Its three readings side by side, and a detector that tells them by their numbers."""
