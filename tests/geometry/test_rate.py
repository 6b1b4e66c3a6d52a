"""The effective learning rate: the length's growth, and runs that are the same."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.transformations import TRANSFORMATIONS
from normviz.geometry.rate import (
    OPTIMIZERS,
    POWERS,
    Training,
    balance,
    decay_runs,
    pythagoras,
    twins,
)


@settings(max_examples=8)
@given(
    st.builds(
        Training,
        rate=st.floats(0.01, 1.0),
        decay=st.floats(0.0, 0.1),
        steps=st.integers(20, 60),
        seed=st.integers(0, 9999),
    )
)
def test_weight_decay_is_a_learning_rate(training):
    course = decay_runs(training)
    assert course.apart(2) < 1e-10  # B11
    shrink = (1 - training.rate * training.decay) ** np.arange(training.steps + 1)
    np.testing.assert_allclose(course.length[:, 2] * shrink, course.length[:, 1], rtol=1e-9)
    ratio = course.effective[:, 2] / course.effective[:, 1]
    np.testing.assert_allclose(ratio, 1 / (1 - training.rate * training.decay), rtol=1e-9)
    assert pythagoras(course) < 1e-13  # W01
    assert course.shortest[:, 0].min() > -1e-14
    assert np.all(np.diff(course.effective[:, 0]) <= 1e-14)


def test_another_schedule_does_not_do_the_same():
    course = decay_runs(Training(steps=100))
    assert course.apart(0) > 0.01
    assert course.apart(3) < 1e-12


def test_weight_decay_comes_to_an_equilibrium():
    training = Training()
    found = balance(decay_runs(training), training)
    assert found.ratio == pytest.approx(1, abs=0.1)
    assert found.turned == pytest.approx(found.expected, rel=0.1)
    early = Training(steps=20)
    assert balance(decay_runs(early), early).ratio > 2


@pytest.mark.parametrize("delta", [0.3, 3.0])
@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_the_twins_need_the_factor_of_table_1(optimizer, delta):
    found = twins(Training(delta=delta, steps=60), optimizer)
    factor = TRANSFORMATIONS["weight-matrix-rescaling"].rate_factor(optimizer, delta)
    for power in POWERS:
        assert (found[power] < 1e-10) == (delta**power == pytest.approx(factor)), found
    assert min(gap for gap in found.values() if gap > 1e-10) > 1e-2
