"""The state of the page on design: what its link holds, and what it asks for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normviz.core.scheme import Scheme
from normviz.core.schemes import SCHEMES
from normviz.core.settings import choice, real, several, whole
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.describe.snippets import FRAMEWORKS
from normviz.design import search
from normviz.design.conditional import SOURCES
from normviz.design.conditions import CONDITIONS
from normviz.design.pointwise import POINTWISE
from normviz.design.search import ANY, SHAPES, Demands, invariances
from normviz.design.training import FEW, SAMPLE, sampled, total
from normviz.experiments.experiment import own_scheme, own_text
from normviz.ui import link, looking
from normviz.ui.choice import words
from normviz.ui.custom import FRONTS
from normviz.ui.link import Param, View, params
from normviz.ui.scheme import ALPHA_LABEL, ALPHA_STEPS, ALPHAS, FIRST_ALPHA

PAGE = "design"
PREFIX = f"{PAGE} "
"""Of all keys in the session: other pages have values of the same names."""

SHOWN = {
    "find": "Find a scheme",
    "map": "Map of all schemes",
    "pointwise": "Without statistics",
    "conditional": "γ and β from elsewhere",
}
"""The panels, by their keys in the link; the page computes only the one that is shown."""

BELONGS: dict[str, tuple[str, ...]] = {
    "layer": ("find", "map", "pointwise"),
    "weights": ("find", "map"),
    **dict.fromkeys((*TRANSFORMATIONS, "conditions"), ("find",)),
    **dict.fromkeys(("set", "train"), ("map",)),
    **dict.fromkeys(("pick", "page", "code", "camera", "focus"), ("find",)),
    **dict.fromkeys(("source", "scheme", "seed"), ("conditional",)),
    "delta": ("conditional", "pointwise"),
    **dict.fromkeys(("function", "alpha"), ("pointwise",)),
}
"""Where a value means something; one that is not here does everywhere."""

DEMANDS = {"either": "Either", "need": "Ignored", "without": "Not ignored"}
"""Labels of the demands that each transformation can have."""


MOST = 10_000
"""Schemes up to which a page trains all; more are for the command line."""

TRAIN = {"sample": f"{SAMPLE} schemes of every set", "all": "All schemes"}
"""Which schemes are trained, where all take minutes without a GPU."""


def pick_text(scheme: Scheme, layer: str) -> str:
    """A scheme as the link has it: its fields and what stands in front; its key where it has none of activations.

    The same for schemes that compute the same on the layer.
    """
    if scheme.on_activations is None or not scheme.fields:
        return scheme.key
    shape, fields = SHAPES[layer][0], (scheme.summation, scheme.suppression)
    return own_text(scheme.with_fields(*(None if field is None else field.canonical(shape) for field in fields)))


def picked(text: str) -> Scheme | None:
    """The scheme that a text of a link says; None where none is picked. Raises InvalidInput."""
    if not text:
        return None
    row = SCHEMES.get(text)
    return own_scheme(text) if row is None or (row.on_activations and row.fields) else row


def read_pick(given: Any, view: View) -> str:
    """A scheme that fits the layer, as `pick_text` writes it; raises ValueError where it does not."""
    text = str(given)
    if (scheme := picked(text)) is not None and scheme.on_activations is not None:
        scheme.check(SHAPES[view["layer"]][0])
    return text


@dataclass(frozen=True)
class Page:
    """What the page's link holds, beside a demand for each transformation."""

    show: str = choice("find", SHOWN)
    layer: str = choice("dense", {key: key.capitalize() for key in LAYERS}, label="Layer")
    weights: str = choice("none", FRONTS | {ANY: "Anything"}, label="Weight normalization in front")
    conditions: Sequence[str] = several(
        (), {key: each.name for key, each in CONDITIONS.items()}, label="The scheme has to"
    )
    page: int = whole(1, 1, 9999)
    code: str = choice("PyTorch", {name: name for name in FRAMEWORKS}, label="Code for")
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
    function: str = choice(next(iter(POINTWISE)), POINTWISE, label="In place of statistics", control="segments")
    alpha: float = real(FIRST_ALPHA, *ALPHAS, label=ALPHA_LABEL, symbol="α", stops=ALPHA_STEPS)
    seed: int = whole(0, 0, 9999, label="Seed", help="Of the digits' order, the weights, the shifts, and V.")


def _focus(given: Any, view: View) -> tuple[int, ...]:
    """An element of the summed inputs of the layer."""
    numbers = [*(given.split(",") if isinstance(given, str) else given), 0, 0, 0, 0][:4]
    return tuple(link.whole(0, n - 1)(k, view) for k, n in zip(numbers, SHAPES[view["layer"]][0], strict=True))


CAMERA = looking.camera(PREFIX)

PARAMS = (
    *params(Page, PREFIX),
    # One that is not among the answers, as of another layer, gives way to the first of them without a word.
    Param(PREFIX + "pick", "", read_pick, label="Scheme", why=lambda given, view: ""),
    CAMERA,
    Param("focus", (0, 0, 0, 0), _focus, lambda focus: ",".join(map(str, focus)), label="Locked element"),
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
    return search.fronts(view["weights"])


def each(view: View) -> int | None:
    """How many schemes of every set are trained; None for all."""
    wanted = view["train"] == "all" and has(view, "train")
    return None if wanted else sampled(view["layer"], fronts(view))


def demands(view: View) -> Demands:
    """What is asked for."""
    need, without = (tuple(key for key in TRANSFORMATIONS if view[key] == asked) for asked in ("need", "without"))
    return Demands(view["layer"], need, without, fronts(view), tuple(view["conditions"]))
