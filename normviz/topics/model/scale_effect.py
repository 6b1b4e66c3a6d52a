"""Effect of ε on a layer's recorded activations: whether the layer still cancels a factor."""

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.text import typeset
from normviz.topics.model.layer_links import find_layer_scheme, make_recorded_tensor
from normviz.topics.model.reported import ReportedLayer

FACTOR = 0.1
"""The factor of the activations: a smaller one makes ε count."""

VISIBLE_EFFECT = 0.01
"""A change of x̂ by at least this many standard deviations is said in numbers."""


def measure_scale_effect(layer: ReportedLayer) -> float | None:
    """Measure how much x̂ changes if all recorded activations are multiplied by `FACTOR`, over its standard deviation.

    None unless the layer cancels a factor in theory, and its numbers are finite.
    """
    x, scheme = make_recorded_tensor(layer), find_layer_scheme(layer)
    if x is None or scheme is None or not layer.table1.get("dataset-rescaling"):
        return None
    x = x.astype(np.float64)
    try:
        before, after = (normalize(each, scheme, layer.eps or 0.0).xhat for each in (x, FACTOR * x))
    except InvalidInput:
        return None
    with np.errstate(all="ignore"):
        effect = float(np.sqrt(np.mean((after - before) ** 2)) / before.std())
    return effect if np.isfinite(effect) else None


def describe_scale_effect(effect: float) -> str:
    """Describe whether the layer cancels the factor on these activations in spite of ε."""
    if effect < VISIBLE_EFFECT:
        return f"Measured: with activations × {FACTOR:g}, x̂ stays the same."
    return f"Measured: with activations × {FACTOR:g}, x̂ changes by {typeset(effect, 2)} σ, because of ε."
