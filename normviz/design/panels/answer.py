"""One scheme that the search has found: its cube, formula and code, what it absorbs, and the ways on from it."""

from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

import numpy as np
import streamlit as st

from normviz.core.normalize import normalize
from normviz.core.scheme import Scheme
from normviz.core.schemes import DEFAULT_EPS, SCHEMES, same_as
from normviz.core.text import sentence, spoken
from normviz.core.theory import degenerate, predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.cube import figure as cube
from normviz.cube.panels import copies
from normviz.data.samples import SAMPLES
from normviz.describe.snippets import snippet
from normviz.describe.wording import named
from normviz.design.panels.ways import table_link
from normviz.design.search import SHAPES, name_of
from normviz.design.state import CAMERA, PREFIX, Page
from normviz.design.state import has as belongs
from normviz.design.wording import steps
from normviz.lab.panels import formula
from normviz.ui.frame import way
from normviz.ui.link import View
from normviz.ui.scheme import link_of
from normviz.ui.settings import Controls
from normviz.ui.tensor import SIZES

MARKS = {True: "✔ absorbed", False: "✘ not absorbed"}


def answer(scheme: Scheme, view: View, theme: str) -> None:
    """All of it."""
    layer = view["layer"]
    row = registered(scheme, layer)
    written = replace(row, bias=None) if scheme.bias is None else row
    st.markdown(f"## {sentence(name_of(scheme, layer) or 'a scheme without a name')}\n{about(scheme, layer)}")
    left, right = st.columns(2, gap="medium")
    with left:
        _cube(scheme, view, theme)
    with right:
        st.table(absorbs(scheme, layer), border="horizontal")
        lab, table = (f"{page}?{urlencode(values)}" for page, values in links(scheme, layer).items())
        way(lab, "Step by step, in the", ":material/grid_view:")
        way(table, "The six changes, measured and trained:", ":material/grid_on:")
    left, right = st.columns(2, gap="medium")
    with left:
        formula(written)
    with right:
        Controls(Page, PREFIX, view, belongs).draw("code")
        shape = SHAPES[layer][0 if scheme.on_activations is not None else 1]
        st.code(snippet(written, view["code"], shape, _eps(written)), "python")


def about(scheme: Scheme, layer: str) -> str:
    """What a scheme does, and its other names on this layer, in sentences."""
    what = steps(scheme, layer)
    told = [f"{sentence(what)}."] if what else [scheme.about]
    name = name_of(scheme, layer)
    others = [named(other) for other in same_as(scheme, SHAPES[layer][0]) if other.name != name]
    if others:
        told.append(f"On this layer, x̂ is that of {spoken(others, 'and')}, too.")
    if scheme.on_activations is not None and scheme.weight is not None:
        told.append(SCHEMES[scheme.weight].about)
    row = registered(scheme, layer)
    if row.on_activations is not None and row.fields and row.gain is not None and None in (row.bias, scheme.bias):
        told.append("It learns γ alone.")
    if scheme.fields and scheme.on_activations is not None and (hollow := degenerate(scheme, SHAPES[layer][0], 0.0)):
        told.append(f"On the shape that is drawn, though: {hollow[0].lower()}{hollow[1:]}")
    return " ".join(told)


def absorbs(scheme: Scheme, layer: str) -> dict[str, list[str]]:
    """The six changes in columns, with the reasons by the rule at ε = 0."""
    verdicts = {key: predict(scheme, each, layer, *SHAPES[layer]) for key, each in TRANSFORMATIONS.items()}
    return {
        "Change": [sentence(TRANSFORMATIONS[key].name) for key in verdicts],
        "At ε = 0": [MARKS[each.invariant] for each in verdicts.values()],
        "By the rule": [each.reason.removeprefix(f"{TRANSFORMATIONS[key].name}: ") for key, each in verdicts.items()],
    }


def registered(scheme: Scheme, layer: str) -> Scheme:
    """The registered scheme that computes the same on this layer, with what it learns; else the scheme itself."""
    rows = [row for row in same_as(scheme, SHAPES[layer][0]) if row.acts_on == scheme.acts_on]
    return min(rows, key=_is_put_behind) if scheme.key == "custom" and rows else scheme


def _is_put_behind(row: Scheme) -> bool:
    """Whether what stands in front is not of the row itself; in a link such goes with custom alone."""
    return row.weight != SCHEMES[row.key].weight


def links(scheme: Scheme, layer: str) -> dict[str, dict[str, Any]]:
    """What the links to the lab and to Table 1 hold: this very scheme, by its name where it has one."""
    row = registered(scheme, layer)
    row = scheme if _is_put_behind(row) else row
    on = 0 if row.on_activations is not None else 1
    lab = link_of(row) | dict(zip(SIZES, SHAPES[layer][on], strict=True))
    return {"/": lab, "/invariance": {"layer": layer} | table_link(row)}


def _eps(scheme: Scheme) -> float:
    return DEFAULT_EPS if scheme.eps is not None and scheme.suppression is not None else 0.0


def _cube(scheme: Scheme, view: View, theme: str) -> None:
    """The fields on the summed inputs; a scheme of weights alone leaves those as they are."""
    x = SAMPLES["uneven"].make(SHAPES[view["layer"]][0], 0)
    same = same_as(scheme, x.shape) if scheme.key == "custom" else [scheme]
    shown = replace(scheme, label=same[0].label if same else "x̂") if scheme.on_activations else SCHEMES["none"]
    xhat = normalize(x, shown, _eps(shown)).xhat
    levels, legend = cube.plain_levels((1, *x.shape))
    copies([shown], x, [np.asarray(xhat)], levels, legend, view, CAMERA, theme)
    if shown.fields:
        st.caption(
            "The summed inputs of a layer; lit is the field of the chosen element, dashed that of its mean where it is "
            "another. Hover, click, or walk with the arrow keys."
        )
    else:
        st.caption("The summed inputs of a layer: no elements share a statistic.")
