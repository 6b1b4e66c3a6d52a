"""What the page on geometry shows: one panel at a time."""

from normviz.geometry.panels import distance, rate, recurrent, slices

PANELS = {"fisher": distance.show, "rate": rate.show, "slices": slices.show, "recurrent": recurrent.show}
