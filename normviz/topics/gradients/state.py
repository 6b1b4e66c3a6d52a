"""The state of the page "Gradients": the values in its link, and its small tensor and scheme."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import isfinite
from typing import Any

from normviz.core.fields import Shape, find_divisors
from normviz.core.registry import SCHEMES, Scheme
from normviz.core.settings import CustomValue, choice, integer, number_choice, switch
from normviz.topics.gradients import exercise
from normviz.topics.gradients.chain import LAST_STEP, PATHS
from normviz.topics.gradients.exercise import Exercise
from normviz.ui import scheme as chosen
from normviz.ui.link import View, create_params, format_exact
from normviz.ui.tensor import SIZE_NAMES

PAGE = "gradients"
PREFIX = PAGE + " "

SHOWN = {"graph": "Step by step", "formula": "Formula", "jacobian": "Jacobian matrix", "answer": "Check your own"}
"""The panels, by their keys in the link; only the open one is computed."""

TENSOR_PANELS = ("formula", "jacobian")
"""The panels that show the small tensor and the scheme."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(SIZE_NAMES, TENSOR_PANELS),
    "seed": (*TENSOR_PANELS, "answer"),
    "torch": ("formula",),
    **dict.fromkeys(("layout", "norm", "parts", *exercise.MAX_LENGTHS, "dtype"), ("answer",)),
    **dict.fromkeys(("x", "dy", "back", "centred", "row"), ("graph",)),
}
"""The panels of each value that does not belong to all of them."""

MAX_TENSOR_LENGTHS = {"n": 4, "h": 3, "w": 3, "c": 4}
"""The largest tensor: its Jacobian has 144 × 144 numbers."""

MAX_NUMBERS = 4
"""Largest number of elements in the panel "Step by step": more do not fit a box on a phone."""

MAX_MAGNITUDE = 1000.0
"""Largest magnitude of these elements, which have three decimals."""


def parse_numbers(text: str) -> list[float]:
    """Return up to `MAX_NUMBERS` numbers of a text, separated by commas, semicolons or spaces, clipped and rounded.

    Raises:
        ValueError: a part is no finite number.
    """
    found = [float(part) for part in str(text)[:400].replace(";", ",").replace("−", "-").replace(",", " ").split()]
    if not all(map(isfinite, found)):
        raise ValueError("not all of them are finite")
    return [round(min(max(each, -MAX_MAGNITUDE), MAX_MAGNITUDE), 3) + 0.0 for each in found[:MAX_NUMBERS]]


def _fit_x(value: Any, view: View) -> str:
    found = parse_numbers(value)
    if len(found) < 2:
        raise ValueError("a field has two elements at least")
    return _format_numbers(found)


def _fit_output_gradient(value: Any, view: View) -> str:
    """Return ∂L/∂x̂ as text with as many numbers as x has, cut off or filled with 0."""
    count = len(parse_numbers(view["x"]))
    return _format_numbers(([*parse_numbers(value), *[0.0] * count])[:count])


def _format_numbers(numbers: list[float]) -> str:
    return ", ".join(map(format_exact, numbers))


def _make_repair_explainer(name: str) -> Callable[[Any, View], str | None]:
    """Return a function that says why the list `name` in a link was repaired; its result is "" if nothing was lost."""

    def why(given: Any, view: View) -> str | None:
        try:
            found = parse_numbers(given)
        except ValueError:
            return f"is not a list of 2 to {MAX_NUMBERS} numbers"
        if name == "dy" and len(found) != len(parse_numbers(view["x"])):
            return "does not have as many numbers as x"
        return "" if found == parse_numbers(view[name]) else f"is not a list of 2 to {MAX_NUMBERS} numbers"

    return why


@dataclass(frozen=True)
class Page:
    """The values of the page's link, except those of the scheme."""

    show: str = choice("graph", SHOWN)
    n: int = integer(2, 1, MAX_TENSOR_LENGTHS["n"])
    h: int = integer(2, 1, MAX_TENSOR_LENGTHS["h"])
    w: int = integer(2, 1, MAX_TENSOR_LENGTHS["w"])
    c: int = integer(3, 1, MAX_TENSOR_LENGTHS["c"])
    seed: int = integer(0, 0, 9999, label="Seed", help="Of x, of what comes from above, and of γ and β.")
    torch: bool = switch(False, label="Compare with autograd", help="PyTorch differentiates the same lines by itself.")
    norm: str = choice("batch", {key: SCHEMES[key].label for key in exercise.SCHEMES}, label="Normalization")
    layout: str = choice("nchw", {key.lower(): name for key, name in exercise.LAYOUT_NAMES.items()}, label="Layout")
    examples: int = integer(6, 1, exercise.MAX_LENGTHS["examples"], label="Examples")
    height: int = integer(4, 1, exercise.MAX_LENGTHS["height"], label="Rows, or positions T")
    width: int = integer(5, 1, exercise.MAX_LENGTHS["width"], label="Columns")
    channels: int = integer(6, 1, exercise.MAX_LENGTHS["channels"], label="Channels")
    parts: int = number_choice(2, lambda given: find_divisors(given["channels"]), label="Groups G")
    dtype: str = choice("float64", ("float64", "float32"), label="Type of the numbers")
    centred: bool = switch(True, label="Subtract the mean", help="On: layer norm. Off: RMS norm.")
    back: int = integer(0, 0, LAST_STEP)
    row: int = integer(0, 0, len(PATHS), label="Marked row of the table", help="The table ends with its sum. 0: none.")


_NUMBERS = {
    "x": CustomValue("1, 2, 4, 1", _fit_x, label="x", why=_make_repair_explainer("x")),
    "dy": CustomValue("1, 0, -1, 0.5", _fit_output_gradient, label="∂L/∂x̂", why=_make_repair_explainer("dy")),
}

PARAMS = (
    *create_params(Page, PREFIX),
    *create_params(_NUMBERS, PREFIX),
    *(replace(param, key=PREFIX + param.key) for param in chosen.PARAMS),
)


def is_relevant(view: View, name: str) -> bool:
    """Return True if the value `name` matters to the open panel; links and controls omit all others."""
    if name in _SCHEME:
        return view["show"] in TENSOR_PANELS and chosen.is_relevant(chosen.build_scheme(view), name)
    if name == "eps":
        return view["show"] not in TENSOR_PANELS or chosen.is_relevant(chosen.build_scheme(view), name)
    if view["show"] not in BELONGS.get(name, tuple(SHOWN)):
        return False
    needs = {
        "height": view["layout"] != "nc",
        "width": view["layout"] in ("nchw", "nhwc"),
        "parts": view["norm"] == "group",
        "row": view["back"] == LAST_STEP,
    }
    return needs.get(name, True)


_SCHEME = {param.name for param in chosen.PARAMS} - {"eps"}


FORMER_VALUES = ("step", "element", "gain", "bias", "pace")
"""Values of former links to "Step by step", where the panel also followed γ, β and one element."""

FORMER_FORWARD_STEPS = 8
"""The former step at which the first gradient returned; all steps before it went forward."""


def translate_former_link(link: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return a page's key and the link's values by name as they are today, for a link of an earlier version.

    The page opened on Formula, which no link named. Step by step had 15 steps, 8 forward. "Scale of W" is now a cell
    of Table 1: all weights times a factor, for the same scheme.

    Example:
        >>> translate_former_link({"scheme": "rms"}), translate_former_link({"show": "graph", "step": "12"})
        (('gradients', {'show': 'formula', 'scheme': 'rms'}), ('gradients', {'show': 'graph', 'back': '4'}))
        >>> translate_former_link({"show": "scale", "scheme": "layer", "a": "10"})
        ('invariance', {'schemes': 'layer', 'cell': 'layer.weight-matrix-rescaling', 'delta': '10'})
    """
    if link.get("show") == "scale":
        scheme = link.get("scheme", "batch")
        target = {"schemes": scheme, "cell": f"{scheme}.weight-matrix-rescaling", "delta": link.get("a", "3")}
        return "invariance", target | {name: link[name] for name in ("eps", "groups", "radius") if name in link}
    of_formula = _SCHEME | {name for name, panels in BELONGS.items() if "formula" in panels}
    if "show" not in link and of_formula & link.keys():
        return PAGE, {"show": "formula", **link}
    if link.get("show", "graph") != "graph":
        return PAGE, dict(link)
    kept = {name: value for name, value in link.items() if name not in FORMER_VALUES}
    step = link.get("step", "")
    return PAGE, kept | ({"back": str(max(int(step) - FORMER_FORWARD_STEPS, 0))} if step.isdecimal() else {})


def get_page_scheme(view: View) -> Scheme:
    """Return the chosen scheme with its parameters."""
    return chosen.build_scheme(view)


def get_tensor_shape(view: View) -> Shape:
    """Return the shape (N, H, W, C) of the page's small tensor."""
    return tuple(view[size] for size in SIZE_NAMES)


def get_page_eps(view: View) -> float:
    """Return the chosen ε, or 0 if the scheme has none."""
    return chosen.get_effective_eps(view, get_page_scheme(view))


def build_exercise(view: View) -> Exercise:
    """Return the homework task that the page's values describe."""
    lengths = view["examples"], view["height"], view["width"], view["channels"]
    return Exercise(
        view["norm"], view["parts"], view["layout"].upper(), lengths, view["dtype"], view["eps"], view["seed"]
    )
