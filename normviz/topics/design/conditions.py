"""Conditions that people have beside invariances, each decided by a scheme's fields, as where schemes are compared."""

from collections.abc import Callable
from dataclasses import dataclass

from normviz.core.fields import AXES, AXIS_NAMES, Shape
from normviz.core.registry import Scheme
from normviz.core.text import join_words
from normviz.topics.compare.comparison import explain_single_failure, is_shared_along

CONDITION_SHAPES = {"dense": (8, 1, 1, 8), "conv": (8, 8, 8, 8)}
"""By layer, summed inputs (N, H, W, C) that are asked about: two groups along an axis hold more than a pair each."""


@dataclass(frozen=True)
class Condition:
    """One condition.

    Attributes:
        key: in links and on the command line.
        name: a verb and its object, as "work for a batch of one".
        asks: (layer) -> what that asks of its fields, in a sentence without its capital and its full stop.
        met: (scheme, shape of the summed inputs) -> whether it does.
        inside: the axes inside one index of which it keeps every field.
        unbiased: whether the scheme is to be taken without β.
    """

    key: str
    name: str
    asks: Callable[[str], str]
    met: Callable[[Scheme, Shape], bool]
    inside: tuple[str, ...] = ()
    unbiased: bool = False


def find_met_conditions(scheme: Scheme, layer: str) -> tuple[str, ...]:
    """The keys of the conditions that a scheme meets on a layer."""
    return tuple(key for key, each in CONDITIONS.items() if each.met(scheme, CONDITION_SHAPES[layer]))


def select_present_axes(axes: tuple[str, ...], layer: str) -> list[str]:
    """Those of some axes that a layer has: N and C of a dense one, all four of a convolution."""
    return [axis for axis, n in zip(AXES["activation"], CONDITION_SHAPES[layer], strict=True) if axis in axes and n > 1]


def _apart(scheme: Scheme, axes: tuple[str, ...], shape: Shape) -> bool:
    """Whether no statistic of the summed inputs is shared along these axes; one of length 1 is none."""
    lengths = zip(AXES["activation"], shape, strict=True)
    there = [axis for axis, n in lengths if axis in axes and n > 1]
    return scheme.on_activations is None or not any(is_shared_along(scheme, axis, shape) for axis in there)


def _keeps_nothing(scheme: Scheme, shape: Shape) -> bool:
    """Over the examples of a mini-batch, statistics are kept as running averages; some weights keep a state too."""
    return _apart(scheme, _EXAMPLES, shape) and not (scheme.on_weights and scheme.on_weights.keeps)


def _centres_nothing(scheme: Scheme, shape: Shape) -> bool:
    return all(part.summation is None for part in (scheme.on_activations, scheme.on_weights) if part is not None)


def _not_over(axes: tuple[str, ...]) -> Callable[[str], str]:
    return lambda layer: (
        f"no field may reach over several "
        f"{join_words(AXIS_NAMES[axis].many for axis in select_present_axes(axes, layer))}"
    )


def _within_an_example(layer: str) -> str:
    return (
        f"every field has to reach over several "
        f"{join_words(AXIS_NAMES[axis].many for axis in select_present_axes(('H', 'W', 'C'), layer))}"
    )


_EXAMPLES = ("N",)
_PLACES = ("N", "H", "W")

CONDITIONS = {
    each.key: each
    for each in (
        Condition(
            "single",
            "work for a batch of one",
            _within_an_example,
            lambda scheme, shape: scheme.on_activations is None or not explain_single_failure(scheme, shape),
        ),
        Condition("nothing-kept", "store nothing for inference", _not_over(_EXAMPLES), _keeps_nothing, _EXAMPLES),
        Condition(
            "independent",
            "treat each example alone",
            _not_over(_EXAMPLES),
            lambda scheme, shape: _apart(scheme, _EXAMPLES, shape),
            _EXAMPLES,
        ),
        Condition(
            "unequal-lengths",
            "accept sequences of unequal lengths",
            _not_over(_PLACES),
            lambda scheme, shape: _apart(scheme, _PLACES, shape),
            _PLACES,
        ),
        Condition(
            "gain-only",
            "learn γ alone",
            lambda layer: "no mean may be subtracted, because only β can restore one",
            _centres_nothing,
            unbiased=True,
        ),
    )
}
"""All conditions by key."""
