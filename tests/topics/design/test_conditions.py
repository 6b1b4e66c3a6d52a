"""Conditions against forward passes: what changes, and what does not, when examples or positions do."""

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.design.conditions import CONDITION_SHAPES, CONDITIONS, find_met_conditions
from normviz.topics.design.demands import WEIGHT_KEYS, Demands
from normviz.topics.design.search import find_schemes

LAYERS = list(CONDITION_SHAPES)


def normalized(scheme, a):
    """x̂ of summed inputs, which schemes of weights and none leave alone."""
    return a if scheme.activation_part is None or not scheme.fields else normalize(a, scheme, 0.0).xhat


def moved(before, after):
    """Whether anything but rounding happened; 0/0, which a field of one element leaves, is what it is."""
    return np.nanmax(np.abs(before - after), initial=0.0) > 1e-9


def notices_examples(scheme, a, rng):
    other = a.copy()
    other[1:] = rng.standard_normal(a[1:].shape) * 3
    return moved(normalized(scheme, a)[0], normalized(scheme, other)[0])


def notices_lengths(scheme, a, rng):
    """A step of one sequence, where others end and its own later steps are padding."""
    other = a.copy()
    other[1:] = 0
    if a.shape[1] > 1:
        other[0, 1:], other[0, :, 1:] = 0, 0
    return moved(normalized(scheme, a)[0, 0, 0], normalized(scheme, other)[0, 0, 0])


def single_example_is_normalized(scheme, a, rng):
    """Whether more is left of one example than zeros and signs."""
    try:
        left = np.abs(normalized(scheme, a[:1]))
    except InvalidInput:
        return False
    return moved(left, left.flat[0]) and bool(np.isfinite(left).all())


def centres(scheme, a, rng):
    """Whether a constant on all summed inputs, or on all weights in front, goes unnoticed."""
    front = scheme.weight_part
    lost = not moved(normalized(scheme, a), normalized(scheme, a + 1.0))
    if front is not None:
        w = rng.standard_normal((3, 3, 4, 8))
        lost |= not moved(*(normalize(each, front, 0.0).xhat for each in (w, w + 1.0)))
    return lost


MEASURED = {
    "single": single_example_is_normalized,
    "nothing-kept": lambda scheme, a, rng: (
        not (notices_examples(scheme, a, rng) or "spectral" in (scheme.key, scheme.weight))
    ),
    "independent": lambda *given: not notices_examples(*given),
    "unequal-lengths": lambda *given: not notices_lengths(*given),
    "gain-only": lambda *given: not centres(*given),
}


@pytest.mark.parametrize("layer", LAYERS)
def test_forward_passes_agree(layer):
    rng = np.random.default_rng(11)
    every = list(find_schemes(Demands(layer, weights=WEIGHT_KEYS)))
    sample = [every[k][0] for k in rng.choice(len(every), 60, replace=False)]
    named = [row for row in SCHEMES.values() if row.key != "custom" and row.kind.key != "whitening"]
    a = rng.standard_normal(CONDITION_SHAPES[layer])
    for scheme in [*sample, *named]:
        seen = tuple(key for key, measure in MEASURED.items() if measure(scheme, a, rng))
        assert seen == find_met_conditions(scheme, layer), scheme


def test_every_condition_is_measured():
    assert list(MEASURED) == list(CONDITIONS)


@pytest.mark.parametrize(
    ("key", "layer", "conditions"),
    [
        ("batch", "dense", ()),
        ("batch", "conv", ("single",)),
        ("layer", "dense", ("single", "nothing-kept", "independent", "unequal-lengths")),
        ("layer", "conv", ("single", "nothing-kept", "independent")),
        ("layer-channels", "conv", ("single", "nothing-kept", "independent", "unequal-lengths")),
        ("rms", "conv", tuple(CONDITIONS)),
        ("weight", "dense", tuple(CONDITIONS)),
        ("spectral", "dense", ("single", "independent", "unequal-lengths", "gain-only")),
        ("weight-standardization", "conv", ("single", "nothing-kept", "independent", "unequal-lengths")),
    ],
)
def test_of_known_schemes(key, layer, conditions):
    assert find_met_conditions(get_scheme(key), layer) == conditions


def test_what_does_with_gain_alone_has_no_bias():
    assert all(scheme.bias is None for scheme, _ in find_schemes(Demands("dense", conditions=("gain-only",))))
    assert any(scheme.bias is not None for scheme, _ in find_schemes(Demands("dense")))
