"""Schemes side by side: what each shares and learns, its state, and what it depends on, derived from its fields."""

from collections.abc import Callable

from normviz.core.fields import Shape
from normviz.core.schemes import Scheme, same_as
from normviz.core.theory import degenerate
from normviz.describe.parameters import parameter_shapes
from normviz.describe.wording import axis_words, count_words, shape_words, shared_words


def spans(scheme: Scheme, axis: str) -> bool:
    """Whether elements with different indices along an axis share a statistic, wherever the axis is long enough."""
    position = scheme.axes.index(axis)
    return any(field.rules[position].kind != "own" for field in scheme.fields)


def reduction(scheme: Scheme, shape: Shape) -> str:
    """What a statistic runs over: "N averaged, H averaged, W averaged"; "nothing"."""
    over = [axis for axis, name in enumerate(scheme.axes) if spans(scheme, name)]
    return ", ".join(axis_words(scheme, [axis], shape) for axis in over) or "nothing"


def statistics(scheme: Scheme, shape: Shape) -> str:
    """How many statistics there are, of how many elements, and in what shape."""
    if scheme.field is None:
        return count_words(scheme, shape)
    return f"{count_words(scheme, shape)}; shape {shape_words(scheme.field.statistics_shape(shape))}"


def learned(scheme: Scheme, shape: Shape) -> str:
    """The learned parameters with their shapes here."""
    rows = (row for row in parameter_shapes(scheme, shape) if row.name not in scheme.keeps)
    return ", ".join(f"{row.name} {row.here}" for row in rows) or "nothing"


def state(scheme: Scheme, shape: Shape) -> str:
    """The state that a layer updates in training and uses for inference."""
    return ", ".join(scheme.keeps) or "nothing"


def on_batch(scheme: Scheme, shape: Shape) -> str:
    """Whether the output of one example depends on the others in the batch."""
    return "yes: statistics span the examples" if spans(scheme, "N") else "no"


def single_example(scheme: Scheme, shape: Shape) -> str:
    """What is left with a single example."""
    one = (1, *shape[1:])
    hollow = degenerate(scheme, one)
    if hollow:
        return f"no: {hollow[0].lower()}{hollow[1:]}"
    twins = [twin.label for twin in same_as(scheme, one) if twin.acts_on == "activation"] if spans(scheme, "N") else []
    return f"only as {twins[0]}" if twins else "yes"


def sequences(scheme: Scheme, shape: Shape) -> str:
    """Whether sequences of different lengths, with time along H, leave a step's result alone."""
    if spans(scheme, "N"):
        return "no: a late step has fewer examples"
    return "no: padding would count" if spans(scheme, "H") else "yes"


PROPERTIES: dict[str, Callable[[Scheme, Shape], str]] = {
    "A statistic runs over": reduction,
    "Shared": lambda scheme, shape: shared_words(scheme),
    "Statistics": statistics,
    "Learned": learned,
    "State for inference": state,
    "Depends on the batch": on_batch,
    "Works with N = 1": single_example,
    "Sequences of different lengths, time along H": sequences,
}
"""What the schemes are compared in, in words by scheme and shape."""


def table(schemes: list[Scheme], shape: Shape) -> dict[str, list[str]]:
    """A row per property: {property: [of each scheme]}."""
    return {name: [words(scheme, shape) for scheme in schemes] for name, words in PROPERTIES.items()}
