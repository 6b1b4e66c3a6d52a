"""What the page on geometry shows: one panel at a time."""

from normviz.geometry.panels import distance, rate

PANELS = {"fisher": distance.show, "rate": rate.show}
