"""The state of the page on design: what its link holds, and what it asks for."""

from collections.abc import Sequence
from dataclasses import dataclass

from normviz.core.schemes import SCHEMES
from normviz.core.settings import choice, real, several, whole
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.design.conditional import SOURCES
from normviz.design.conditions import CONDITIONS
from normviz.design.search import WEIGHTS, Demands, invariances
from normviz.design.training import FEW, SAMPLE, sampled, total
from normviz.ui import link
from normviz.ui.choice import words
from normviz.ui.custom import FRONTS
from normviz.ui.link import Param, View, params

PAGE = "design"
PREFIX = f"{PAGE} "
"""Of all keys in the session: other pages have values of the same names."""

SHOWN = {
    "find": "Find a scheme",
    "map": "Map of all schemes",
    "pointwise": "Without statistics",
    "conditional": "γ and β from elsewhere",
}
"""What the page shows; only that is computed."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("layer", "weights"), ("find", "map")),
    **dict.fromkeys((*TRANSFORMATIONS, "conditions"), ("find",)),
    **dict.fromkeys(("set", "train"), ("map",)),
    **dict.fromkeys(("source", "scheme", "delta", "seed"), ("conditional",)),
}
"""Where a value means something; one that is not here does everywhere."""

ANY = "any"
DEMANDS = {"either": "Either", "need": "Absorbed", "without": "Not absorbed"}
"""What may be asked of a scheme for each transformation."""


MOST = 10_000
"""Schemes up to which a page trains all; more are for the command line."""

TRAIN = {"sample": f"{SAMPLE} schemes of every set", "all": "All schemes"}
"""Which schemes are trained, where all take minutes without a GPU."""


@dataclass(frozen=True)
class Page:
    """What the page's link holds, beside a demand for each transformation."""

    show: str = choice("find", SHOWN)
    layer: str = choice("dense", {key: key.capitalize() for key in LAYERS}, label="Layer")
    weights: str = choice("none", FRONTS | {ANY: "Anything"}, label="In front, a scheme of the weights")
    conditions: Sequence[str] = several((), {key: each.name for key, each in CONDITIONS.items()}, label="It has to")
    set: Sequence[str] = several(
        invariances(SCHEMES["layer"], "dense"), {key: each.name for key, each in TRANSFORMATIONS.items()}
    )
    train: str = choice("sample", TRAIN)
    source: str = choice(
        "style", {key: each.name for key, each in SOURCES.items()}, label="γ and β from", control="segments"
    )
    scheme: str = choice("instance", {key: words(key) for key in SCHEMES if key != "custom"}, label="Scheme")
    delta: float = real(
        3.0,
        1e-3,
        1e3,
        label="δ (re-scaling factor)",
        symbol="δ",
        stops=(1e-3, 0.01, 0.1, 0.5, 1.0, 2.0, 3.0, 10.0, 100.0, 1e3),
    )
    seed: int = whole(0, 0, 9999, label="Seed", help="Of the digits' order, the weights, the shifts, and V.")


PARAMS = (
    *params(Page, PREFIX),
    *(
        Param(PREFIX + key, "either", link.choice(list(DEMANDS)), label=each.name, words=DEMANDS.__getitem__)
        for key, each in TRANSFORMATIONS.items()
    ),
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    if view["show"] not in BELONGS.get(name, tuple(SHOWN)):
        return False
    return name != "train" or FEW < total(view["layer"], fronts(view)) <= MOST


def fronts(view: View) -> tuple[str, ...]:
    """What may stand in front."""
    return WEIGHTS if view["weights"] == ANY else (view["weights"],)


def each(view: View) -> int | None:
    """How many schemes of every set are trained; None for all."""
    wanted = view["train"] == "all" and has(view, "train")
    return None if wanted else sampled(view["layer"], fronts(view))


def demands(view: View) -> Demands:
    """What is asked for."""
    need, without = (tuple(key for key in TRANSFORMATIONS if view[key] == asked) for asked in ("need", "without"))
    return Demands(view["layer"], need, without, fronts(view), tuple(view["conditions"]))
