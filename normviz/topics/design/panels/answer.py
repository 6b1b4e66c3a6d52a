"""Panels on the schemes found: their cubes, and the ignored changes and the formula of one scheme."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES, find_equal_schemes, find_named_schemes
from normviz.core.scheme import Scheme
from normviz.core.text import capitalize_first, join_words
from normviz.core.theory import explain_degeneracy, predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.data.samples import SAMPLES
from normviz.describe.wording import format_scheme_name
from normviz.topics.design.demands import SHAPES, get_normalized_shape
from normviz.topics.design.search import find_scheme_name
from normviz.topics.design.state import CAMERA
from normviz.topics.design.wording import describe_scheme_steps
from normviz.topics.lab.panels import show_scheme_formula
from normviz.topics.table1 import state as table1
from normviz.ui.cube_row import show_cubes
from normviz.ui.frame import draw_page_link
from normviz.ui.link import View
from normviz.ui.scheme import make_scheme_link
from normviz.ui.tensor import SIZE_NAMES

INVARIANCE_MARKS = {True: "✔ ignored", False: "✘ not ignored"}


def show_scheme_answer(scheme: Scheme, view: View) -> None:
    """Show the transformations to which a scheme is invariant, and its formula."""
    layer = view["layer"]
    row = find_registered_equivalent(scheme, layer)
    written = replace(row, bias=None) if scheme.bias is None else row
    name = find_scheme_name(scheme, layer) or "a scheme without a name"
    st.markdown(f"### {capitalize_first(name)}\n{describe_found_scheme(scheme, layer)}")
    st.table(tabulate_changes(scheme, layer), border="horizontal")
    lab, table = (f"{page}?{urlencode(values)}" for page, values in build_answer_links(scheme, layer).items())
    draw_page_link(lab, "Step by step, in the", ":material/grid_view:")
    draw_page_link(table, "The six changes, measured and trained:", ":material/grid_on:")
    show_scheme_formula(written)


def describe_found_scheme(scheme: Scheme, layer: str) -> str:
    """Describe a scheme's steps, and which other schemes compute the same x̂ on this layer, in sentences."""
    what = describe_scheme_steps(scheme, layer)
    sentences = [f"{capitalize_first(what)}."] if what else [scheme.about]
    name = find_scheme_name(scheme, layer)
    others = [format_scheme_name(other) for other in find_equal_schemes(scheme, SHAPES[layer][0]) if other.name != name]
    if others:
        sentences.append(
            f"On this layer, {join_words(others, 'and')} {'give' if len(others) > 1 else 'gives'} the same x̂."
        )
    if scheme.activation_part is not None and scheme.weight is not None:
        sentences.append(SCHEMES[scheme.weight].about)
    row = find_registered_equivalent(scheme, layer)
    if row.activation_part is not None and row.fields and row.gain is not None and None in (row.bias, scheme.bias):
        sentences.append("It learns γ alone.")
    if (
        scheme.fields
        and scheme.activation_part is not None
        and (hollow := explain_degeneracy(scheme, SHAPES[layer][0], 0.0))
    ):
        sentences.append(f"On the shape of the picture: {hollow[0].lower()}{hollow[1:]}")
    return " ".join(sentences)


def tabulate_changes(scheme: Scheme, layer: str) -> dict[str, list[str]]:
    """Return a table of the transformations as columns: whether the scheme is invariant at ε = 0, and why."""
    verdicts = {key: predict(scheme, each, layer, *SHAPES[layer]) for key, each in TRANSFORMATIONS.items()}
    return {
        "Change": [capitalize_first(TRANSFORMATIONS[key].name) for key in verdicts],
        "At ε = 0": [INVARIANCE_MARKS[each.invariant] for each in verdicts.values()],
        "Why": [each.reason.removeprefix(f"{TRANSFORMATIONS[key].name}: ") for key, each in verdicts.items()],
    }


def find_registered_equivalent(scheme: Scheme, layer: str) -> Scheme:
    """Return the registered scheme that computes the same x̂ on this layer, else the scheme itself."""
    rows = (row for row in find_named_schemes(scheme, SHAPES[layer][0]) if row.acts_on == scheme.acts_on)
    return min(rows, key=_has_other_weight_scheme, default=scheme)


def _has_other_weight_scheme(row: Scheme) -> bool:
    """Return True if a registered scheme, `row`, has a weight scheme in front that its definition does not include."""
    return row.weight != SCHEMES[row.key].weight


def build_answer_links(scheme: Scheme, layer: str) -> dict[str, dict[str, Any]]:
    """Build the URL parameters that open this scheme in the lab and in Table 1, by page."""
    row = find_registered_equivalent(scheme, layer)
    row = scheme if _has_other_weight_scheme(row) else row
    lab = make_scheme_link(row) | dict(zip(SIZE_NAMES, get_normalized_shape(row, layer), strict=True))
    return {"/": lab, "/invariance": {"layer": layer} | build_table_link(row)}


def build_table_link(scheme: Scheme) -> dict[str, str]:
    """Build the URL parameters that open this scheme in Table 1."""
    known = {param.name for param in table1.PARAMS}
    return {"schemes": scheme.key} | {name: value for name, value in make_scheme_link(scheme).items() if name in known}


def _choose_eps(scheme: Scheme) -> float:
    return DEFAULT_EPS if scheme.eps is not None and scheme.suppression is not None else 0.0


def draw_cubes(schemes: Sequence[Scheme], view: View, theme: str) -> None:
    """Draw the layer's pre-activations for each scheme, with the elements that it averages with the chosen one.

    A scheme that acts on the weights alone leaves them as they are.
    """
    x = SAMPLES["uneven"].make(SHAPES[view["layer"]][0], 0)
    shown = [
        replace(each, label=next((row.label for row in find_named_schemes(each, x.shape)), "No name"))
        if each.activation_part
        else SCHEMES["none"]
        for each in schemes
    ]
    xhats = [np.asarray(normalize(x, each, _choose_eps(each)).xhat) for each in shown]
    show_cubes(shown, x, xhats, view, CAMERA, theme)
    if any(each.fields for each in shown):
        st.caption(
            "The pre-activations of a layer. Lit: the elements that share a mean and variance with the chosen element. "
            "Dashed: the elements that share its mean, if they are others."
        )
    else:
        st.caption("The pre-activations of a layer. No elements share a statistic.")
