"""Schemes of the search in words: their steps, their names, and which of them are counted."""

from normviz.core.fields import AXES, OWN, Field
from normviz.core.registry import SCHEMES, Scheme
from normviz.core.text import join_words
from normviz.topics.design.search import SEARCHED_RULES, NamedSchemes, find_scheme_name, find_varying_axes

LAYER_WORDS = {"dense": "dense", "conv": "convolutional"}
"""Adjective of each layer in sentences."""


def format_scheme_line(scheme: Scheme, layer: str) -> str:
    """Format a scheme in a line: "mean over N; root mean square over N, 2 groups of C", with its name."""
    what, name = describe_scheme_steps(scheme, layer), find_scheme_name(scheme, layer)
    return f"{what}  = {name}" if what and name else what or name or ""


def describe_scheme_steps(scheme: Scheme, layer: str) -> str:
    """Describe the steps of a scheme: "mean over N; root mean square over N, 2 groups of C".

    Empty if it has no fields on the activations.
    """
    if scheme.activation_part is None or not scheme.fields:
        return ""
    fields = {"mean over": scheme.summation, "root mean square over": scheme.suppression}
    front = [] if scheme.weight is None else [f"{SCHEMES[scheme.weight].name} in front"]
    return "; ".join(
        [*front, *(f"{said} {_format_averaged_axes(each, layer)}" for said, each in fields.items() if each is not None)]
    )


def _format_averaged_axes(field: Field, layer: str) -> str:
    """Describe the averaged axes of a field on a layer: "N, 2 groups of C"."""
    axes = {AXES["activation"][axis]: field.rules[axis] for axis in find_varying_axes(layer)}
    reached = {axis: rule for axis, rule in axes.items() if rule != OWN}
    words = {"full": "{axis}", "groups": "{rule.parameter_or_zero} groups of {axis}", "window": "windows of {axis}"}
    return ", ".join(words[rule.kind].format(axis=axis, rule=rule) for axis, rule in reached.items()) or "each element"


def format_named_labels(names: NamedSchemes) -> str:
    """Format the labels of registered schemes: "Layer = Layer (channels), Group; not counted: Divisive".

    Between the names of counted schemes whose x̂ is the same on the layer stands "=".
    """
    counted = ", ".join(" = ".join(SCHEMES[key].label for key in keys) for keys in names.counted)
    others = ", ".join(SCHEMES[key].label for key in names.uncounted)
    return "; ".join(filter(None, [counted, others and f"not counted: {others}"]))


def describe_counted_schemes(layer: str) -> str:
    """Return sentences on the count of schemes: which axes and rules vary, and which kinds are left out."""
    axes = join_words([AXES["activation"][axis] for axis in find_varying_axes(layer)], "and")
    return (
        f"The count contains every choice along {axes}: keep the axis, average over it, or average over "
        f"{SEARCHED_RULES[-1].parameter_or_zero} groups of it. The mean and the divisor choose separately. Schemes "
        "with windows and pointwise schemes are not counted. Whitening is left out."
    )
