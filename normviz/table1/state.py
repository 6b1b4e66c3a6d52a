"""The state of the Table 1 page: what its link holds, and the schemes and the setting that it asks for."""

from dataclasses import replace
from typing import Any

from normviz.core.fields import divisors
from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.core.transformations import LAYERS, OPTIMIZERS, PAPER, TRANSFORMATIONS
from normviz.networks.setting import DEVICES, DTYPES, LIMITS, RATES, WIDTHS, Setting
from normviz.ui import custom
from normviz.ui.custom import MAX_RADIUS, SIZES, closest
from normviz.ui.link import Param, View, choice, decimal, real, switch, whole

PREFIX = "table "
"""Of all keys in the session: the lab has values of the same names."""

ORDER = (*PAPER, *(key for key in SCHEMES if key not in PAPER))
"""The rows to choose from: the paper's first."""

PANELS = {
    "changed": "What is changed",
    "script": "Script",
    "eps": "Gap over ε",
    "training": "Gap over ε, trained",
    "delta": "Gap over δ",
}
"""What is shown below the open cell; only that is computed."""

ONE_CELL = ("changed", "script")
"""Those that tell of no other cell, and may be shown while answers are covered."""
DEFAULT = Setting()
SETTING = ("layer", "delta", "eps", "dtype", "optimizer", "rate", "steps", "batch", "width", "depth", "seed", "device")
"""The names of the values that are those of a `Setting`."""


def shaped(view: View) -> Setting:
    """A setting with the shape of the view, whatever else it says."""
    return Setting(layer=view["layer"], batch=view["batch"], width=view["width"], depth=view["depth"])


def lengths(view: View) -> dict[str, int]:
    """The length of every axis of the first normalized layer."""
    return dict(zip(SIZES, shaped(view).shapes[0], strict=True))


def _schemes(value: Any, view: View) -> list[str]:
    given = value.split(",") if isinstance(value, str) else value
    return list(dict.fromkeys(choice(ORDER)(key.strip(), view) for key in given if key.strip()))


def _width(value: Any, view: View) -> int:
    return whole(*LIMITS["width"])(WIDTHS[view["layer"]] if value is None else value, view)


def _rate(value: Any, view: View) -> float:
    return real(*LIMITS["rate"])(RATES[view["optimizer"]] if value is None else value, view)


def _groups(value: Any, view: View) -> int:
    return closest(divisors(view["width"]), float(value))


def _cell(value: Any, view: View) -> str:
    scheme, _, change = str(value).partition(".")
    rows = view["schemes"] or [ORDER[0]]
    change = choice(list(TRANSFORMATIONS))(change, view)
    return f"{scheme if scheme in rows else rows[0]}.{change}"


PARAMS = tuple(
    replace(param, key=PREFIX + param.key)
    for param in (
        Param("schemes", list(PAPER), _schemes, ",".join),
        Param("layer", DEFAULT.layer, choice(LAYERS)),
        Param("delta", DEFAULT.delta, real(-LIMITS["delta"][1], LIMITS["delta"][1]), decimal),
        Param("eps", DEFAULT.eps, real(*LIMITS["eps"]), decimal),
        Param("dtype", DEFAULT.dtype, choice(DTYPES)),
        Param("optimizer", DEFAULT.optimizer, choice(OPTIMIZERS)),
        Param("rate", None, _rate, decimal),
        switch("follow", True),
        Param("steps", DEFAULT.steps, whole(*LIMITS["steps"])),
        Param("batch", DEFAULT.batch, whole(*LIMITS["batch"])),
        Param("width", None, _width),
        Param("depth", DEFAULT.depth, whole(*LIMITS["depth"])),
        Param("seed", DEFAULT.seed, whole(*LIMITS["seed"])),
        Param("device", DEFAULT.device, choice(DEVICES)),
        Param("groups", 2, _groups),
        Param("radius", 2, whole(0, MAX_RADIUS)),
        *custom.params(lengths),
        Param("cell", f"{ORDER[0]}.{next(iter(TRANSFORMATIONS))}", _cell),
        Param("panel", "changed", choice(list(PANELS))),
        switch("cover", False),
    )
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to the rows that are shown: a link and the controls leave out what does not."""
    kinds = {kind for key in view["schemes"] for kind in SCHEMES[key].parameters if key != "custom"}
    if name in custom.KEYS:
        return "custom" in view["schemes"]
    return {"groups": "groups" in kinds, "radius": "window" in kinds}.get(name, True)


def schemes_of(view: View) -> list[Scheme]:
    """The rows, with everything that the view says of them filled in."""
    made = {"custom": custom.scheme_of(view)}
    return [made.get(key) or get_scheme(key, view["groups"], view["radius"]) for key in view["schemes"]]


def setting_of(view: View) -> Setting:
    """The setting; raises InvalidInput, as for δ < 0."""
    return Setting(**{name: view[name] for name in SETTING})
