"""A scheme's rules in words, as the search lists it."""

from normviz.core.fields import AXES, OWN, Field
from normviz.core.schemes import SCHEMES, Scheme
from normviz.design.search import axes_of, name_of

LAYER_WORDS = {"dense": "dense", "conv": "convolutional"}
"""What a layer is called in sentences."""


def printed(scheme: Scheme, layer: str) -> str:
    """A scheme in a line: "mean over N; root mean square over N, 2 groups of C", and its name if it has one."""
    what, name = steps(scheme, layer), name_of(scheme, layer)
    return f"{what}  = {name}" if what and name else what or name or ""


def steps(scheme: Scheme, layer: str) -> str:
    """What a scheme does: "mean over N; root mean square over N, 2 groups of C", with what stands in front.

    Nothing where it has no fields on the activations.
    """
    if scheme.on_activations is None or not scheme.fields:
        return ""
    fields = {"mean over": scheme.summation, "root mean square over": scheme.suppression}
    front = [] if scheme.weight is None else [f"{SCHEMES[scheme.weight].name} in front"]
    return "; ".join([*front, *(f"{said} {_over(each, layer)}" for said, each in fields.items() if each is not None)])


def _over(field: Field, layer: str) -> str:
    """The axes of a layer along which a field reaches."""
    axes = {AXES["activation"][axis]: field.rules[axis] for axis in axes_of(layer)}
    reached = {axis: rule for axis, rule in axes.items() if rule != OWN}
    words = {"full": "{axis}", "groups": "{rule.number} groups of {axis}", "window": "windows of {axis}"}
    return ", ".join(words[rule.kind].format(axis=axis, rule=rule) for axis, rule in reached.items()) or "each element"
