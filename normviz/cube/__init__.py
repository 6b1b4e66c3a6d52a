"""The tensor as a picture: where its cells stand, and the figure."""
