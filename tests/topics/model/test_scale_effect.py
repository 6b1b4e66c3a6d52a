"""Whether a layer cancels a factor of its recorded activations in spite of ε."""

from dataclasses import replace

import numpy as np
import pytest

from normviz.core.fields import FULL, OWN
from normviz.topics.model.scale_effect import describe_scale_effect, measure_scale_effect
from normviz.topics.model.state import read_example

LAYER = read_example("resnet").choose_layer("layer1.bn1")


@pytest.mark.parametrize("eps", [0.0, 1e-5, 1e-2, 1.0])
def test_the_effect_is_that_of_the_formula(eps):
    x = LAYER.recorded.x.astype(float)
    v, square = x - x.mean((0, 2, 3), keepdims=True), x.var((0, 2, 3), keepdims=True)
    before, after = v / np.sqrt(square + eps), 0.1 * v / np.sqrt(0.01 * square + eps)
    expected = np.sqrt(np.mean((after - before) ** 2)) / before.std()
    effect = measure_scale_effect(replace(LAYER, eps=eps))
    assert effect == pytest.approx(expected, abs=1e-12)
    assert ("stays the same" in describe_scale_effect(effect)) == (expected < 0.01)


def test_what_does_not_cancel_factors_or_has_no_numbers_has_no_effect():
    assert measure_scale_effect(replace(LAYER, table1={"dataset-rescaling": False})) is None
    assert measure_scale_effect(replace(LAYER, recorded=None)) is None
    for value in (np.nan, np.inf, 1.0):  # constant channels have x̂ = 0
        spoilt = LAYER.recorded._replace(x=np.full_like(LAYER.recorded.x, value))
        assert measure_scale_effect(replace(LAYER, recorded=spoilt)) is None
    apart = ((OWN, OWN, FULL, OWN), (OWN, OWN, OWN, FULL))
    assert measure_scale_effect(replace(LAYER, recorded_fields=apart, eps=None)) is not None
