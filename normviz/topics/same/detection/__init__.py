"""The detector, which names a layer from its input and its output."""
