"""The compare page: which schemes stand side by side, their cubes in one scene, and what tells them apart."""

from typing import Any

import numpy as np
import streamlit as st

from normviz.compare import comparison
from normviz.core.fields import AXIS, OWN, Field
from normviz.core.normalize import Normalized
from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.cube import figure as cube
from normviz.cube.layout import surface
from normviz.describe import wording
from normviz.describe.notation import SYMBOL
from normviz.lab import state as lab
from normviz.lab.controls import data_controls, shape_controls
from normviz.ui import custom
from normviz.ui.components.plot import plot
from normviz.ui.link import KEPT, Param, View, choice, value_slider

PREFIX = "compare "
FEWEST, MOST = 2, 6
OPTIONS = [key for key, scheme in SCHEMES.items() if scheme.acts_on != "weight"]
"""Those that act on the same tensor; the schemes of weights have a page of their own."""

SHARED = (*lab.SIZES, "groups", "radius", "eps", "data", "seed", "colour", "focus")
"""What the page has in common with the tensor lab: the tensor follows the user."""


def _schemes(value: Any, view: View) -> list[str]:
    given = value.split(",") if isinstance(value, str) else value
    return list(dict.fromkeys(choice(OPTIONS)(key.strip(), view) for key in given if key.strip()))[:MOST]


PARAMS = (*lab.PARAMS, Param(PREFIX + "schemes", ["batch", "layer", "instance", "group"], _schemes, ",".join))


TITLE = "# Which elements share a statistic?"


def has(view: View, name: str) -> bool:
    """Whether a value belongs into this page's link."""
    return name in (*SHARED, "schemes")


def schemes_of(view: View) -> list[Scheme]:
    """The schemes with the view's parameters; the custom one as it is set in the tensor lab."""
    made = {"custom": custom.scheme_of(view)} if "custom" in view["schemes"] else {}
    return [made.get(key) or get_scheme(key, view["groups"], view["radius"]) for key in view["schemes"]]


def controls(view: View) -> None:
    """Schemes, their parameters, shape and data, in the sidebar."""
    with st.sidebar:
        st.pills(
            f"Schemes, {FEWEST} to {MOST}",
            OPTIONS,
            selection_mode="multi",
            key=PREFIX + "schemes",
            **KEPT,
            format_func=lambda key: SCHEMES[key].label,
        )
        kinds = {kind for key in view["schemes"] if key != "custom" for kind in SCHEMES[key].parameters}
        if "groups" in kinds:
            st.selectbox("Groups G", lab.group_options(view), key="groups", **KEPT)
        if "window" in kinds:
            st.slider("Radius R of the windows", 0, custom.MAX_RADIUS, key="radius", **KEPT)
        value_slider("eps", "ε (smoothing term)", lab.EPS_STEPS, view["eps"], "{:.3g}".format)
        st.divider()
        shape_controls(view, SCHEMES["batch"])
        st.divider()
        data_controls(view)


def picture(view: View, schemes: list[Scheme], x: np.ndarray, results: list[Normalized], theme: str) -> None:
    """All cubes in a row, in one scene; the element's field lights in each."""
    st.segmented_control(
        "Colour by", list(lab.COLOURS), key="colour", **KEPT, required=True, format_func=lab.COLOURS.get
    )
    levels, legend = _levels(view["colour"], schemes, x, results)
    layout, _ = surface("folded", x.shape)
    titles = tuple(wording.axis_words(SCHEMES["none"], axes, x.shape) for axes in layout.dimensions[:3])
    labels = [scheme.label for scheme in schemes]
    alt = f"The same tensor {wording.shape_words(x.shape)} in {len(schemes)} cubes, one a scheme: {', '.join(labels)}. "
    plot(
        cube.cube_figure(x.shape, "folded", levels, legend, titles, theme, copies=labels),
        key="cubes",
        alt=alt + "Lit in each is the field of the chosen element.",
        hover=cube.hover_data(
            x.shape,
            "folded",
            [(scheme.field, scheme.summation) for scheme in schemes],
            x,
            [result.xhat for result in results],
            filled=legend["kind"] == "plain",
        ),
        focus=view["focus"],
        names=[AXIS[name].letter for name in SCHEMES["none"].axes],
        symbol=SYMBOL.get("activation", "x"),
        labels=labels,
        on_focus=_take_focus,
    )
    st.caption(
        "One tensor, one camera. Hover to light an element's field in every cube, click or Enter to lock it; arrows, "
        "Page and Home/End keys walk from cell to cell. Dashed: the field of the mean, where it is another."
    )


def _take_focus() -> None:
    st.session_state["focus"] = tuple(map(int, st.session_state["cubes plot"]["focus"]))


def _levels(colour: str, schemes: list[Scheme], x: np.ndarray, results: list[Normalized]) -> tuple[np.ndarray, dict]:
    """Levels of all copies, in one scale."""
    if colour == "field":
        return cube.plain_levels((len(schemes), *x.shape))
    if colour == "statistic":
        alone = Field((OWN,) * 4)  # nothing is shared: a statistic of its own for every element
        levels = [cube.statistic_levels(x.shape, scheme.field or alone) for scheme in schemes]
        return np.stack([level for level, _ in levels]), levels[0][1]
    values = [x] * len(schemes) if colour == "value" else [result.xhat for result in results]
    return cube.value_levels(np.stack(values))


def table(view: View, schemes: list[Scheme], x: np.ndarray, results: list[Normalized]) -> None:
    """What tells the schemes apart, and the locked element's field and result."""
    focus = view["focus"]
    rows = comparison.table(schemes, x.shape)
    at = ", ".join(f"{AXIS[name].letter} = {i}" for name, i in zip(SCHEMES["none"].axes, focus, strict=True))
    here = {
        f"Field of {at}": [
            "–" if scheme.field is None else wording.field_words(scheme.field, focus, x.shape, scheme.axes)
            for scheme in schemes
        ],
        f"x̂ there (x = {x[focus]:.4g})": [f"{result.xhat[focus]:.4g}" for result in results],
    }
    columns = {"": [f"**{name}**" for name in (*here, *rows)]}
    for number, scheme in enumerate(schemes):
        columns[scheme.label] = [words[number] for words in (*here.values(), *rows.values())]
    st.table(columns, border="horizontal")
    for scheme in schemes:
        alike = [other for other in schemes if other.canonical(x.shape) == scheme.canonical(x.shape)]
        if len(alike) > 1 and alike[0] is scheme:
            names = ", ".join(other.label for other in alike[1:])
            st.info(f"On this shape {scheme.label} and {names} are the same.", icon=":material/equal:")
