"""The panels of the page "Step size", of which one is open."""

from normviz.topics.geometry.panels import rate, vectors

PANELS = {"vectors": vectors.show, "rate": rate.show}
