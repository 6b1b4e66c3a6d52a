"""The view of a cube: camera position, gaps, and indices cut away.

The browser changes it and sends the result, so that the link holds it.
"""

from collections.abc import Callable, Sequence
from typing import Any

import streamlit as st

from normviz.core.settings import CustomValue, Real
from normviz.ui.link import Param, View, make_integer_fitter
from normviz.ui.tensor import SIZE_NAMES, fit_index, format_index, get_view_shape

NEAREST, FARTHEST = 20.0, 0.05
"""Limits of the camera's closeness; 1 is the initial one."""

FIELD_GAPS = "fields"
"""Gaps between fields; the other choices are gaps along an axis."""


def _fit_camera(value: Any, view: View) -> tuple[float, ...]:
    """Return the nearest valid camera (degrees around, degrees above, closeness); () for the initial position."""
    given = value.split(",") if isinstance(value, str) else list(value)
    if given in ([], [""], ["home"]):
        return ()
    around, above, near = (*given, 1)[:3]
    turn = make_integer_fitter(-180, 180)(around, view), make_integer_fitter(-89, 89)(above, view)
    return (*turn, round(Real(FARTHEST, FARTHEST, NEAREST).find_nearest_value(near, view), 2))


def _fit_gaps(value: Any, view: View) -> tuple[str, ...]:
    given = value.split(",") if isinstance(value, str) else list(value)
    return tuple(name for name in (FIELD_GAPS, *SIZE_NAMES) if name in given)


def _join_values(values: Sequence[Any]) -> str:
    return ",".join(f"{v:g}" if isinstance(v, float) else str(v) for v in values)


def _describe_camera(turned: Sequence[float]) -> str:
    return f"{turned[0]}° around, {turned[1]}° above, {turned[2]:g} × as near" if turned else "as at first"


def create_camera_param(prefix: str = "") -> Param:
    """Return the `Param` of the camera's position; `prefix`, one for each page, starts its session key."""
    declared = CustomValue(
        (), _fit_camera, lambda turned: _join_values(turned) or "home", label="the camera", shown=_describe_camera
    )
    return Param(prefix + "camera", declared)


GAPS_PARAM = Param(
    "gaps", CustomValue((), _fit_gaps, lambda gaps: _join_values(gaps) or "none", label="what is pulled apart")
)
CUT_PARAM = Param(
    "cut",
    CustomValue(
        (0, 0, 0, 0), lambda cut, view: fit_index(cut, get_view_shape(view)), format_index, label="what is cut away"
    ),
)


def make_view_callback(key: str, params: Sequence[Param]) -> Callable[[], None]:
    """Return a callback that stores the view, sent by the component with this key, as the values of `params`."""

    def take() -> None:
        sent = st.session_state[key]["view"]
        for param in params:
            if param.name in sent:
                st.session_state[param.key] = tuple(sent[param.name])

    return take
