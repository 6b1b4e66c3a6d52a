"""The state of the tensor lab: what its link holds, and the scheme and the tensor that it asks for."""

from math import gcd
from typing import Any

import numpy as np
import streamlit as st

from normviz.core.fields import AXES, MAX_ELEMENTS, OWN, Field, Rule, Shape, divisors, largest_fit
from normviz.core.schemes import DEFAULT_EPS, SCHEMES, Scheme, get_scheme
from normviz.cube.layout import VIEWS
from normviz.data.samples import SAMPLES
from normviz.ui import custom
from normviz.ui.custom import MAX_RADIUS, SIZES, closest
from normviz.ui.link import Param, View, choice, decimal, real, whole

EPS_STEPS = (0.0, *(10.0**k for k in range(-12, 2)))
COLOURS = {"field": "Field", "statistic": "Statistic", "value": "Value x", "normalized": "Result x̂"}
OWN_DATA = "own"

PRESETS: dict[str, View] = {
    "Conv feature maps": {"n": 4, "h": 4, "w": 4, "c": 6},
    "Transformer tokens (B, T, C)": {"n": 4, "h": 8, "w": 1, "c": 6},
    "Dense layer (N, C)": {"n": 8, "h": 1, "w": 1, "c": 12},
    "One image": {"n": 1, "h": 8, "w": 8, "c": 3, "view": "unfolded", "data": "digits"},
    "Photograph": {"n": 1, "h": 96, "w": 128, "c": 1, "view": "unfolded", "data": "photo"},
    "Conv weights": {"n": 3, "h": 3, "w": 4, "c": 8},
}


def shape_of(view: View) -> Shape:
    """The shape that is asked for."""
    return tuple(view[size] for size in SIZES)


def lengths(view: View) -> dict[str, int]:
    """The length of every axis."""
    return {size: view[size] for size in SIZES}


def fit(view: View, limit: int = MAX_ELEMENTS) -> View:
    """The shape, made to fit into what is drawn; that of one's own data where they are there."""
    own = st.session_state.get("own") if view["data"] == OWN_DATA else None
    if own is not None:
        return dict(zip(SIZES, own.shape, strict=True))
    return dict(zip(SIZES, largest_fit(shape_of(view), limit), strict=True))


def grouped(view: View) -> dict[str, int]:
    """The axes that the scheme cuts into groups, with their length; C where it cuts none."""
    scheme = SCHEMES[view["scheme"]]
    lengths = zip(scheme.axes, shape_of(view), strict=True)
    cut = (any(field.rules[axis].kind == "groups" for field in scheme.fields) for axis in range(4))
    return {axis: n for (axis, n), is_cut in zip(lengths, cut, strict=True) if is_cut} or {"C": view["c"]}


def group_options(view: View) -> list[int]:
    """The numbers of groups that every such axis can be cut into."""
    return divisors(gcd(*grouped(view).values()))


def _divisor(value: Any, view: View) -> int:
    return closest(group_options(view), float(value))


def _eps(value: Any, view: View) -> float:
    return real(0.0, 1e3)(value, view)


def _radius_a(value: Any, view: View) -> str:
    return "same" if value in ("", "same") else str(whole(0, MAX_RADIUS)(value, view))


def _over(value: Any, view: View) -> list[str]:
    return [axis for axis in "HWC" if axis in value] or ["C"]


def _focus(value: Any, view: View) -> tuple[int, ...]:
    given = value.split(",") if isinstance(value, str) else list(value)
    given = (given + [0] * 4)[:4]
    return tuple(whole(0, n - 1)(v, view) for v, n in zip(given, shape_of(view), strict=True))


PARAMS = (
    *(Param(size, n, whole(1, MAX_ELEMENTS)) for size, n in PRESETS["Conv feature maps"].items()),
    Param("scheme", "batch", choice(list(SCHEMES))),
    Param("groups", 2, _divisor),
    Param("radius", 1, whole(0, MAX_RADIUS)),
    Param("radius_a", "same", _radius_a),
    Param("over", ["H", "W", "C"], _over, "".join),
    *custom.params(lengths),
    Param("eps", DEFAULT_EPS, _eps, decimal),
    Param("gain", 1.0, real(-10, 10), decimal),
    Param("bias", 0.0, real(-10, 10), decimal),
    Param("data", "uneven", choice([*SAMPLES, OWN_DATA])),
    Param("seed", 0, whole(0, 9999)),
    Param("view", "folded", choice(list(VIEWS))),
    Param("colour", "field", choice(list(COLOURS))),
    Param("focus", (0, 0, 0, 0), _focus, lambda focus: ",".join(map(str, focus))),
)


def has(scheme: Scheme, key: str) -> bool:
    """Whether a parameter means anything to a scheme: a link and the controls leave out what does not."""
    if key in custom.KEYS:
        return scheme.key == "custom"
    kinds = SCHEMES[scheme.key].parameters if scheme.key != "custom" else {}
    answers = {
        "groups": "groups" in kinds,
        "radius": "window" in kinds,
        "radius_a": "window" in kinds,
        "over": "window" in kinds,
        "eps": scheme.eps is not None and scheme.suppression is not None,
        "gain": scheme.gain is not None,
        "bias": scheme.bias is not None,
    }
    return answers.get(key, True)


def scheme_of(view: View) -> Scheme:
    """The scheme with everything that the view says of it filled in."""
    scheme = get_scheme(view["scheme"], groups=view["groups"])
    if scheme.key == "custom":
        return custom.scheme_of(view)
    return windowed(scheme, view) if has(scheme, "radius") else scheme


def windowed(scheme: Scheme, view: View) -> Scheme:
    """The scheme with the view's radii, along those axes of the view that it has windows on."""
    summation = view["radius"] if view["radius_a"] == "same" else int(view["radius_a"])
    radii = zip(scheme.fields, (summation, view["radius"]), strict=True)
    return scheme.with_fields(*(_windows(field, radius, view["over"]) for field, radius in radii))


def _windows(field: Field, radius: int, over: list[str]) -> Field:
    """Windows of this radius, over some of the axes that the field has windows on."""
    window = Rule("window", radius)
    rules = zip(field.rules, AXES["activation"], strict=True)
    return Field(tuple(r if r.kind != "window" else window if axis in over else OWN for r, axis in rules))


def eps_of(view: View, scheme: Scheme) -> float:
    """ε as the scheme takes it: 0 where it has none."""
    return view["eps"] if has(scheme, "eps") else 0.0


def affine_of(view: View, scheme: Scheme) -> tuple[float, float]:
    """γ and β as the scheme takes them: 1 and 0 where it has none."""
    return view["gain"] if has(scheme, "gain") else 1.0, view["bias"] if has(scheme, "bias") else 0.0


def tensor(view: View) -> np.ndarray:
    """The tensor that is asked for; uneven noise until one's own is there."""
    if view["data"] != OWN_DATA:
        return _sample(view["data"], shape_of(view), view["seed"])
    own = st.session_state.get("own")
    return _sample("uneven", shape_of(view), view["seed"]) if own is None else own


@st.cache_data(max_entries=64, show_spinner=False)
def _sample(key: str, shape: Shape, seed: int) -> np.ndarray:
    return SAMPLES[key].make(shape, seed)
