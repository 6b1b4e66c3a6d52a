"""γ and β that depend on a condition: what the rule says of y is what a forward pass does."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pairs import each_value
from strategies import examples, noise

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES
from normviz.core.theory import absorbed
from normviz.core.tolerances import RELATIVE
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design import conditional
from normviz.design.conditional import SOURCES, hollow, setting_of, table

DELTAS = (1e-3, 0.3, 1.02, 3.0, 1e3)


def cells(scheme, setting):
    return [cell for row in table(scheme, setting).values() for cell in row.values()]


def kept(scheme, setting):
    """What y keeps, by source."""
    return {key: [c for c, cell in row.items() if cell.predicted] for key, row in table(scheme, setting).items()}


@pytest.mark.parametrize(("key", "delta"), each_value(SCHEMES, DELTAS))
def test_every_cell_is_measured_to_be_what_the_rule_says(key, delta):
    setting = setting_of(delta, seed=DELTAS.index(delta))
    if hollow(SCHEMES[key], setting) is None:
        found = cells(SCHEMES[key], setting)
        assert len(found) == len(SOURCES) * len(TRANSFORMATIONS)
        assert [cell for cell in found if cell.answer.together != cell.predicted] == []


@examples(100)
@given(
    key=st.sampled_from(list(SCHEMES)),
    batch=st.integers(2, 64),
    width=st.integers(2, 16),
    seed=st.integers(0, 9999),
    delta=st.floats(1e-3, 1e3),
)
def test_no_measurement_speaks_against_the_rule_on_any_layer(key, batch, width, seed, delta):
    setting = replace(setting_of(delta, seed), batch=batch, width=width)
    scheme = SCHEMES[key]
    if scheme.acts_on == "weight" or scheme.fits(setting.shapes[0]):
        found = cells(scheme, setting)
        assert [cell for cell in found if not cell.agrees] == []
        if hollow(scheme, setting):
            assert {cell.answer.together for cell in found} == {None}


@pytest.mark.parametrize("key", SCHEMES)
def test_learned_and_unrelated_parameters_leave_what_the_scheme_absorbs(key):
    setting = setting_of(3.0, 0)
    own = list(absorbed(SCHEMES[key], "conv", setting.shapes[0], setting.weight_shapes[0]))
    found = kept(SCHEMES[key], setting)
    assert found["learned"] == found["film"] == found["time-step"] == found["normalized"] == own


def test_what_comes_back_in_is_what_the_path_to_the_condition_sees():
    found = kept(SCHEMES["instance"], setting_of(3.0, 0))
    data = ["dataset-rescaling", "dataset-recentering", "case-rescaling"]
    assert found["style"] == data  # the style's features pass through the weights that change
    assert found["batch-style"] == []  # and belong to the data that change
    assert found["input"] == ["weight-matrix-rescaling", "weight-vector-rescaling"]
    assert found["sums"] == []


def test_a_scheme_of_the_weights_in_front_absorbs_for_the_condition_too():
    behind, alone = (kept(SCHEMES[key], setting_of(3.0, 0)) for key in ("layer-weight", "layer"))
    assert "weight-vector-rescaling" in behind["style"]
    assert "weight-matrix-rescaling" not in alone["style"]


def test_at_delta_1_there_is_nothing_to_tell_of_factors():
    for cell in cells(SCHEMES["layer"], setting_of(1.0, 0)):
        assert (cell.answer.together is None) == (TRANSFORMATIONS[cell.change].factor is not None)


def test_a_rule_that_forgets_a_path_is_found_out(monkeypatch):
    monkeypatch.setattr(conditional, "notice", lambda *given: conditional.Notice(False, ""))
    wrong = [cell for cell in cells(SCHEMES["instance"], setting_of(3.0, 0)) if not cell.agrees]
    assert {cell.source for cell in wrong} == {"style", "batch-style", "input", "sums"}


# --- the sources --------------------------------------------------------------------------------------------------


def test_adaptive_instance_norm_has_the_statistics_of_the_style():
    content, style = noise(0, 4, 6, 6, 3), 2 + 3 * noise(1, 4, 6, 6, 3)
    gain, bias = SOURCES["style"].make(style, np.random.default_rng(0), 3)
    y = normalize(content, SCHEMES["instance"], 0.0, gain, bias).y
    for of in (np.mean, np.std):
        np.testing.assert_allclose(of(y, axis=(1, 2)), of(style, axis=(1, 2)), rtol=RELATIVE["float64"] * 10)


def test_a_gate_is_between_0_and_1_and_a_half_behind_instance_norm():
    taken = 5 * noise(0, 4, 6, 6, 3)
    gain, bias = SOURCES["sums"].make(taken, np.random.default_rng(0), 3)
    assert 0 < gain.min() < gain.max() < 1
    assert not bias.any()
    xhat = normalize(taken, SCHEMES["instance"], 0.0).xhat
    np.testing.assert_allclose(SOURCES["normalized"].make(xhat, np.random.default_rng(0), 3)[0], 0.5)


@pytest.mark.parametrize("key", SOURCES)
def test_parameters_vary_by_example_and_channel_at_most(key):
    gain, bias = SOURCES[key].make(noise(0, 5, 6, 6, 3), np.random.default_rng(0), 3)
    for each in (gain, bias):
        assert np.broadcast_shapes(each.shape, (5, 1, 1, 3)) == (5, 1, 1, 3)
    assert key == "learned" or len(np.unique(gain[:, 0, 0, 0])) == 5


def test_the_examples_apart_are_others():
    problem = conditional.make_problem(replace(setting_of(3.0, 0), steps=2))
    assert not set(problem.order[0]) & set(problem.order[1])
