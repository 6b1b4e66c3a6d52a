"""The effective learning rate: the length's growth, and runs that are the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.geometry.rate import (
    DELTA_POWERS,
    OPTIMIZERS,
    RateSetting,
    measure_pythagoras_gap,
    measure_twin_gaps,
    train_single,
)


@settings(max_examples=8)
@given(
    st.builds(RateSetting, rate=st.floats(0.01, 1.0), steps=st.integers(20, 60), seed=st.integers(0, 9999)),
)
def test_steps_only_lengthen_the_weights(training):
    course = train_single(training)
    assert measure_pythagoras_gap(course) < 1e-13  # W01
    assert course.shortest.min() > -1e-14
    assert np.all(np.diff(course.effective_rates[:, 0]) <= 1e-14)
    np.testing.assert_allclose(course.effective_rates[:, 0] * course.length[:-1, 0] ** 2, training.rate)


@pytest.mark.parametrize("delta", [0.3, 3.0])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_twins_need_the_factor_of_table_1(optimizer, delta):
    found = measure_twin_gaps(RateSetting(delta=delta, steps=60), optimizer)
    factor = TRANSFORMATIONS["weight-matrix-rescaling"].compute_rate_factor(optimizer, delta)
    for power in DELTA_POWERS:
        assert (found[power] < 1e-10) == (delta**power == pytest.approx(factor)), found
    assert min(gap for gap in found.values() if gap > 1e-10) > 1e-2
