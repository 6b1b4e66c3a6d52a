"""The state of the page on why: what its link holds, and what it computes once for all sessions."""

from dataclasses import dataclass

import streamlit as st

from normviz.core.schemes import DEFAULT_EPS, Reference
from normviz.core.settings import among, choice, real, whole
from normviz.ui.link import View, params
from normviz.why import identity, outside, saturation, style, whitening

PAGE = "why"

PREFIX = PAGE + " "
"""Of all keys in the session: other pages have values of the same names."""

SHOWN = {
    "whitening": "Whitening",
    "saturation": "Saturation",
    "outside": "Outside the gradient",
    "identity": "γ and β",
    "style": "Style",
    "history": "History",
}
"""What the page shows; only that is computed."""

BELONGS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("points", "first", "second", "correlation", "ratio", "stage", "size"), ("whitening",)),
    "eps": ("whitening", "identity", "style"),
    "seed": ("whitening", "saturation", "outside", "identity", "style"),
    **dict.fromkeys(("depth", "start", "rate", "layer", "unit"), ("saturation",)),
    **dict.fromkeys(("step_size", "steps"), ("outside",)),
    **dict.fromkeys(("part", "swept", "sweep_rate"), ("identity",)),
    **dict.fromkeys(("content", "contrast", "space", "kernel"), ("style",)),
}
"""Where a value means something; one that is not here does everywhere."""

ADAIN = Reference("Huang & Belongie 2017, Arbitrary Style Transfer", "1703.06868")
"""Instance norm with another picture's statistics."""

POINTS = {"digits": "Digits", "own": "Your own"}
FEATURE_NAMES = {key: feature.name.capitalize() for key, feature in whitening.FEATURES.items()}
STAGE_NAMES = {key: stage.name for key, stage in whitening.STAGES.items()}


@dataclass(frozen=True)
class Page(saturation.Setting):
    """What the page's link holds."""

    show: str = choice("whitening", SHOWN)
    points: str = choice("digits", POINTS, label="Points")
    first: str = choice("middle", FEATURE_NAMES, label="First feature")
    second: str = choice("all", FEATURE_NAMES, label="Second feature")
    correlation: float = real(0.9, -1.0, 1.0, label="Correlation", stops=(-1.0, -0.9, -0.5, 0.0, 0.5, 0.9, 0.99, 1.0))
    ratio: float = real(3.0, 0.1, 10.0, label="Scale of x₀ against x₁", stops=(0.1, 0.3, 1.0, 3.0, 10.0))
    stage: str = choice("scaled", STAGE_NAMES, label="Made of it", control="segments")
    size: int = among(16, (2, 4, 8, 16, 32, 64, 128, 256), label="Mini-batch size m", control="menu")
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-5, 1e-3, 1e-1))
    layer: int = whole(4, 0, lambda given: given["depth"] - 1, label="Hidden layer, from 0", control="segments")
    unit: int = whole(0, 0, saturation.WIDTH - 1, label="Unit, from 0")
    step_size: float = real(0.1, 0.001, 10.0, label="Learning rate", stops=(0.001, 0.01, 0.1, 1.0, 10.0))
    steps: int = whole(50, 1, 500, label="Steps", control="slider")
    part: float = real(0.5, 0.0, 1.0, label="From γ = 1, β = 0 to the identity", stops=(0.0, 0.25, 0.5, 0.75, 1.0))
    swept: str = choice("gain", {"gain": "First γ", "bias": "First β"}, label="Over")
    sweep_rate: float = real(0.1, 0.01, 1.0, label="Learning rate of the sweep", stops=(0.01, 0.03, 0.1, 0.3, 1.0))
    content: str = choice("china", style.PHOTOS, label="Photograph")
    contrast: float = real(0.3, 0.0, 1.0, label="Its contrast", stops=(0.0, 0.01, 0.1, 0.3, 0.5, 1.0))
    space: str = choice("pixels", {"pixels": "Pixels", "features": "Random features"}, label="Statistics of")
    kernel: int = among(3, (1, 3, 5), label="Patches of k × k pixels, k", control="segments")


PARAMS = params(Page, PREFIX)


def has(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    if name in ("first", "second") and view["points"] != "digits":
        return False
    if name in ("correlation", "ratio") and view["points"] != "own":
        return False
    if view["space"] != "features" and (name == "kernel" or (name == "seed" and view["show"] == "style")):
        return False
    return view["show"] in BELONGS.get(name, tuple(SHOWN))


@st.cache_data(max_entries=1, show_spinner="Measuring …")
def costs() -> whitening.Costs:
    """What whitening costs on this server, once for all sessions: measured at the same time they would disturb each
    other."""
    return whitening.costs()


@st.cache_data(max_entries=64, show_spinner="Training two networks …")
def trained(setting: saturation.Setting) -> dict[str, saturation.Seen]:
    """A run without batch norm and one with it."""
    return {"without batch norm": saturation.run(setting, False), "with batch norm": saturation.run(setting, True)}


@st.cache_data(max_entries=64, show_spinner=False)
def descents(rate: float, steps: int, seed: int) -> dict[str, outside.Descent]:
    """Gradient descent outside of the gradient's sight, and inside."""
    return {"outside": outside.descend(rate, steps, seed, False), "inside": outside.descend(rate, steps, seed, True)}


@st.cache_data(max_entries=64, show_spinner=False)
def undone(part: float, eps: float, seed: int) -> identity.Undone:
    """A layer on its way to the identity."""
    return identity.undone(part, eps, seed)


@st.cache_data(max_entries=64, show_spinner="Training a few networks …")
def sweep(swept: str, rate: float) -> tuple[tuple[float, ...], identity.Sweep]:
    """What networks learn over their first γ, or over their first β."""
    if swept == "gain":
        return identity.GAINS, identity.sweep(identity.GAINS, [0.0] * len(identity.GAINS), rate)
    return identity.SHIFTS, identity.sweep([1.0] * len(identity.SHIFTS), identity.SHIFTS, rate)


@st.cache_data(max_entries=16, show_spinner=False)
def restyled(content: str, contrast: float, kernel: int, eps: float, seed: int) -> style.Restyled:
    """A photograph in the style of the other."""
    return style.restyle(content, contrast, kernel, eps, seed)
