"""The chain of one field: as the general form has it, forward and backward, and its figure against Plotly."""

from itertools import product

import numpy as np
import plotly.graph_objects as go
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.charts.palette import THEMES
from normviz.core.backward import backward
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.topics.gradients.chain import LAST_STEP, PATHS, STEPS, compute_chain_values, list_step_terms
from normviz.topics.gradients.chain_figures import GRAPH_EDGES, draw_graph, get_path_colours

NUMBERS = st.floats(-1000, 1000).map(lambda number: round(number, 3))
FIELDS = st.integers(2, 4).flatmap(
    lambda n: st.tuples(*(st.lists(NUMBERS, min_size=n, max_size=n).map(np.array) for _ in range(2)))
)


@settings(max_examples=60, deadline=None)
@given(FIELDS, st.sampled_from([0.0, 1e-5, 1.0]))
def test_it_is_the_general_form(field, eps):
    x, dxhat = (each.reshape(1, 1, 1, -1) for each in field)
    for scheme in ("layer", "rms"):
        one = compute_chain_values(*field, eps, has_mean=scheme == "layer")
        np.testing.assert_allclose(one.xhat, normalize(x, SCHEMES[scheme], eps).xhat.ravel(), rtol=1e-9, atol=1e-9)
        scale = float(np.abs(one.dxhat).max()) / (one.root or 1.0)
        expected = backward(x, dxhat, SCHEMES[scheme], eps).ravel()
        np.testing.assert_allclose(one.dx, expected, atol=1e-9 * max(scale, 1e-12))


@settings(max_examples=60, deadline=None)
@given(FIELDS, st.sampled_from([0.0, 1e-5, 1.0]))
def test_the_parts_add_up_to_the_gradient_of_the_step(field, eps):
    layer, rms = compute_chain_values(*field, eps), compute_chain_values(*field, eps, has_mean=False)
    for one, step in product((layer, rms), STEPS[1:]):
        scale = 1e-9 * (1.0 + float(np.abs(one.dv).max()) + abs(one.droot))
        added, total = list_step_terms(one, step), getattr(one, step)
        if added:
            found = sum(added.values())
            np.testing.assert_allclose(found if np.ndim(total) else found.sum(), total, atol=scale)


def test_a_constant_field_without_eps_lets_nothing_through():
    one = compute_chain_values(np.array([3.1, 3.1, 3.1]), np.array([1.0, 0, -1]), 0.0)
    assert one.xhat.tolist() == one.dx.tolist() == [0, 0, 0]


@pytest.mark.parametrize("theme", THEMES)
def test_each_step_turns_arrows_and_adds_one_gradient(theme):
    one, backwards = compute_chain_values(np.array([1.0, 2, 4, 1]), np.array([1.0, 0, -1, 0.5]), 1e-5), []
    for step in range(LAST_STEP + 1):
        figure = draw_graph(one, step, 0.0, theme)
        go.Figure(figure.to_dict())
        notes = figure.layout["annotations"]
        assert sum("∂L/∂" in note["text"] for note in notes) == max(step, 1)  # the first is given
        arrows = [note for note in notes if note.get("showarrow")]
        assert len(arrows) == len(GRAPH_EDGES)
        backwards.append(sum(note["arrowwidth"] > 2 for note in arrows))
        shown = " ".join(note["text"] for note in notes)
        assert all(name[0] in shown for name in PATHS)
        drawn = {note["arrowcolor"] for note in arrows}
        assert len({*get_path_colours(THEMES[theme])} & drawn) == len(PATHS)
    assert backwards == [0, 1, 2, 3, 5, 6, 8]
