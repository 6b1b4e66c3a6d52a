"""Links from a reported layer to the pages that show its scheme."""

from urllib.parse import urlencode

import numpy as np

from normviz.core.layouts import merge_rules
from normviz.core.registry import SCHEMES, Scheme, make_custom_scheme
from normviz.core.text import format_exact
from normviz.topics.model.reported import ReportedLayer
from normviz.ui.custom import make_custom_parameters
from normviz.ui.scheme import make_scheme_link
from normviz.ui.tensor import OWN_DATA

Link = dict[str, str]


def make_recorded_tensor(layer: ReportedLayer) -> np.ndarray | None:
    """Return the recorded activations of a layer as (N, H, W, C); None if there are none."""
    return None if layer.recorded is None else layer.array_layout.to_tensor(layer.recorded.x)


def find_layer_scheme(layer: ReportedLayer) -> Scheme | None:
    """Return the scheme that a layer computes on its recorded activations, or without them on any input.

    Groups are those of the recorded channels. None if no scheme of the app has its axes or its formula.
    """
    x = make_recorded_tensor(layer)
    named = [SCHEMES[key] for key in layer.keys]
    if layer.form in ("tanh", "erf"):
        return next((scheme.with_parameters(alpha=layer.alpha) for scheme in named), None)
    if layer.form != "general" or layer.target == "weight":
        return named[0] if named else None
    layout, rules = layer.array_layout, layer.fields if x is None else layer.recorded_fields
    fields = merge_rules(rules[0], layout), merge_rules(rules[1], layout)
    if any((field is None) != (given is None) for field, given in zip(fields, rules, strict=True)):
        return None
    custom = make_custom_scheme(*fields)
    if x is None:
        return named[0] if named else custom
    parameters = {kind: n for field in fields if field for kind, n in field.parameters().items()}
    given = (each.with_parameters(parameters.get("groups"), parameters.get("window")) for each in named)
    found = next((each for each in given if each.is_activation_scheme and each.averages_like(fields, x.shape)), custom)
    return found if found.fits(x.shape) else None


def make_lab_link(layer: ReportedLayer) -> Link:
    """Return the URL parameters of the tensor lab: scheme, ε, and γ and β where they are one number.

    With recorded activations it names the session's own tensor, which the page sets before it follows the link.
    """
    x, scheme = make_recorded_tensor(layer), find_layer_scheme(layer) or SCHEMES["none"]
    link = make_scheme_link(scheme, None if x is None else x.shape)
    if x is not None:
        link["data"] = OWN_DATA
    if layer.eps is not None and scheme.eps is not None and scheme.suppression is not None:
        link["eps"] = format_exact(layer.eps)
    learned = {"gain": (layer.gain, scheme.gain), "bias": (layer.bias, scheme.bias)}
    for name, (ends, is_there) in learned.items():
        value = find_single_value(ends)
        if is_there is not None and value is not None:
            link[name] = format_exact(value)
    return link


def find_single_value(ends: tuple[float, float] | None) -> float | None:
    """Return the one value of γ or β, given its (min, max); None if it varies or is too large for the lab."""
    if ends is None or not ends[1] - ends[0] < 1e-5 or max(map(abs, ends)) > 10:
        return None
    return float(f"{ends[0]:.3g}") if abs(ends[0]) > 1e-6 else 0.0


def make_table_link(layer: ReportedLayer) -> str | None:
    """Return the address of Table 1 with a row for the layer's scheme; None if the app has no such scheme."""
    scheme = find_layer_scheme(layer)
    if scheme is None:
        return None
    link = {"schemes": f"none,{scheme.key}", "cell": f"{scheme.key}.dataset-rescaling"}
    return format_address("invariance", link | make_custom_parameters(scheme))


def make_running_link(layer: ReportedLayer) -> str | None:
    """Return a link to the page "Training vs. inference" with the layer's batch size and ε.

    None unless statistics of the batch are used in training.
    """
    if layer.training != "batch" or "N" not in layer.layout:
        return None
    batch = min(layer.shape[layer.layout.index("N")], 128)  # the largest of that page
    link = {"batch": str(batch)} | ({} if layer.eps is None else {"eps": format_exact(layer.eps)})
    return format_address("running", link)


def format_address(page: str, link: Link) -> str:
    """Return the address of a page with URL parameters: "/page?name=value"."""
    return f"/{page}?{urlencode(link, safe=',')}"
