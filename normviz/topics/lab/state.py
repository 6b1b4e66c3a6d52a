"""Page values of the tensor lab: tensor and scheme, which other pages share, γ, β, and the view."""

from dataclasses import dataclass

from normviz.core.normalize import LayerScalars
from normviz.core.registry import SCHEMES, Scheme
from normviz.core.settings import choice, real
from normviz.describe.snippets import FRAMEWORKS
from normviz.topics.lab.lab_cube import choose_cube_view
from normviz.ui import cube_view, custom, tensor
from normviz.ui import scheme as chosen
from normviz.ui.link import View, clean_values, create_params

TABS = {
    "statistics": "Statistics",
    "distribution": "Distribution",
    "response": "Response",
    "picture": "Picture",
    "formula": "Formula",
    "parameters": "Parameters and state",
    "code": "Code",
}
"""Titles of the panels below the cube, by their names in a link."""

BELOW_KEY = "lab below"
"""Session key that is True once the part below the cube has been in sight."""

STATISTIC_NAMES = ("mean", "divisor")
FRAMEWORK_LABELS = {name.lower(): name for name in FRAMEWORKS}
"""Frameworks of the code, by their names in a link."""


def has_affine(scheme: Scheme) -> bool:
    """Return True if a scheme has γ or β, so that y differs from x̂."""
    return scheme.gain is not None or scheme.bias is not None


LOOK_PARAMS = cube_view.create_camera_param(), cube_view.GAPS_PARAM, cube_view.CUT_PARAM
"""Values of the camera, the gaps and the cut of the cube."""


@dataclass(frozen=True)
class LearnedValues:
    """Page values that training would learn, here set by hand: γ, β, τ."""

    gain: float = real(1.0, -10.0, 10.0, label=lambda view: f"{SCHEMES[view['scheme']].gain_symbol} (gain)")
    bias: float = real(0.0, -10.0, 10.0, label="β (bias)")
    threshold: float = real(0.0, -10.0, 10.0, label="τ (threshold)")


@dataclass(frozen=True)
class TabValues:
    """Page values of the panels below the cube."""

    tab: str = choice("statistics", TABS)
    statistic: str = choice("divisor", STATISTIC_NAMES)
    framework: str = choice("pytorch", FRAMEWORK_LABELS)


COMPUTED_PARAMS = (
    *tensor.PARAMS,
    *chosen.PARAMS,
    tensor.declare_colour(lambda view: has_affine(chosen.build_scheme(view))),
    *create_params(LearnedValues),
    *LOOK_PARAMS[1:],
)
"""Values of the tensor, the scheme and the look, which a preset sets or resets."""

PARAMS = (*COMPUTED_PARAMS, *create_params(TabValues), LOOK_PARAMS[0])


def affects_scheme(scheme: Scheme, name: str) -> bool:
    """Return True if the page value `name` affects a scheme; links and controls omit all others."""
    learned = {"gain": scheme.gain, "bias": scheme.bias, "threshold": scheme.threshold}
    return learned[name] is not None if name in learned else chosen.is_relevant(scheme, name)


def has_advanced_changes(view: View) -> bool:
    """Return True if a value under "Advanced" matters and is not its default."""
    scheme, (defaults, _) = chosen.build_scheme(view), clean_values(PARAMS, {})
    names = ("radius_a", "over", "eps", "gain", "bias", "threshold", "seed")  # besides those of a custom scheme
    changed = (name for name in names if affects_scheme(scheme, name) and view[name] != defaults[name])
    return custom.is_custom_chosen([scheme.key]) or any(changed)


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value matters to the page's scheme and in its open panel."""
    scheme = chosen.build_scheme(view)
    only = {"statistic": ("statistics", len(scheme.fields) == 2), "framework": ("code", True)}
    tab, there = only.get(name, ("", True))
    return there and affects_scheme(scheme, name) and (not tab or view["tab"] == tab)


def get_cube_view(view: View, scheme: Scheme) -> str:
    """Return the chosen view of the cube; by default "unfolded" for windows, else "folded"."""
    return view["view"] or choose_cube_view(scheme)


def get_layer_scalars(view: View, scheme: Scheme) -> LayerScalars:
    """Return the page's ε, γ, β and τ; those that the scheme lacks are neutral, γ = 1 and the others 0."""
    learned = {name: view[name] for name in ("gain", "bias", "threshold") if affects_scheme(scheme, name)}
    return LayerScalars(chosen.get_effective_eps(view, scheme), **learned)
