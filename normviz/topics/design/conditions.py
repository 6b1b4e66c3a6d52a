"""Conditions on a scheme besides invariances, each decided by the scheme's fields."""

from collections.abc import Callable
from dataclasses import dataclass

from normviz.core.fields import AXES, AXIS_NAMES, Shape
from normviz.core.registry import Scheme
from normviz.core.rows import index_by_key
from normviz.core.text import join_words
from normviz.topics.compare.comparison import explain_single_example_failure, is_shared_along

CONDITION_SHAPES = {"dense": (8, 1, 1, 8), "conv": (8, 8, 8, 8)}
"""Pre-activations (N, H, W, C) by layer: long enough that each of two groups along an axis holds more than a pair."""


@dataclass(frozen=True)
class SchemeCondition:
    """Condition that a scheme may have to meet, such as to store nothing for inference.

    Attributes:
        key: name in links and on the command line.
        name: verb and object, as "work for a batch of one".
        asks: (layer) -> requirement on the fields, a sentence without capital and full stop.
        met: (scheme, shape of the pre-activations) -> True if the scheme meets the condition.
        inside: axes along which no field may reach over several indices.
        unbiased: True if the scheme is used without β.
    """

    key: str
    name: str
    asks: Callable[[str], str]
    met: Callable[[Scheme, Shape], bool]
    inside: tuple[str, ...] = ()
    unbiased: bool = False


def find_met_conditions(scheme: Scheme, layer: str) -> tuple[str, ...]:
    """Return the keys of the conditions that a scheme meets on a layer."""
    return tuple(key for key, each in CONDITIONS.items() if each.met(scheme, CONDITION_SHAPES[layer]))


def select_present_axes(axes: tuple[str, ...], layer: str) -> list[str]:
    """Return those of the given axes that a layer has: N and C if it is dense, all if it is convolutional."""
    return [axis for axis, n in zip(AXES["activation"], CONDITION_SHAPES[layer], strict=True) if axis in axes and n > 1]


def _keeps_axes_apart(scheme: Scheme, axes: tuple[str, ...], shape: Shape) -> bool:
    """Return True if no statistic of the pre-activations is shared along these axes; axes of length 1 are ignored."""
    long = [axis for axis, n in zip(AXES["activation"], shape, strict=True) if axis in axes and n > 1]
    return scheme.activation_part is None or not any(is_shared_along(scheme, axis, shape) for axis in long)


def _is_stateless(scheme: Scheme, shape: Shape) -> bool:
    """Return True if a scheme needs neither running averages over examples nor a state of its weights."""
    return _keeps_axes_apart(scheme, _EXAMPLES, shape) and not (scheme.weight_part and scheme.weight_part.keeps)


def _has_no_centring(scheme: Scheme, shape: Shape) -> bool:
    return all(part.summation is None for part in (scheme.activation_part, scheme.weight_part) if part is not None)


def _name_several(axes: tuple[str, ...], layer: str) -> str:
    return join_words(AXIS_NAMES[axis].many for axis in select_present_axes(axes, layer))


def _make_axes_ban_text(axes: tuple[str, ...]) -> Callable[[str], str]:
    return lambda layer: f"no field may reach over several {_name_several(axes, layer)}"


_EXAMPLES = ("N",)
_PLACES = ("N", "H", "W")

CONDITIONS = index_by_key(
    SchemeCondition(
        "single", "work for a batch of one",
        lambda layer: f"every field has to reach over several {_name_several(('H', 'W', 'C'), layer)}",
        lambda scheme, shape: scheme.activation_part is None or not explain_single_example_failure(scheme, shape),
    ),
    SchemeCondition(
        "nothing-kept", "store nothing for inference", _make_axes_ban_text(_EXAMPLES), _is_stateless, _EXAMPLES,
    ),
    SchemeCondition(
        "independent", "treat each example alone", _make_axes_ban_text(_EXAMPLES),
        lambda scheme, shape: _keeps_axes_apart(scheme, _EXAMPLES, shape), _EXAMPLES,
    ),
    SchemeCondition(
        "unequal-lengths", "accept sequences of unequal lengths", _make_axes_ban_text(_PLACES),
        lambda scheme, shape: _keeps_axes_apart(scheme, _PLACES, shape), _PLACES,
    ),
    SchemeCondition(
        "gain-only", "learn γ alone", lambda layer: "no mean may be subtracted, because only β can restore one",
        _has_no_centring, unbiased=True,
    ),
)  # fmt: skip
