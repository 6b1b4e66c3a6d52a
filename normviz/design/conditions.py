"""Conditions that people have beside invariances, each decided by a scheme's fields."""

from collections.abc import Callable
from dataclasses import dataclass

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Shape
from normviz.core.schemes import Scheme
from normviz.core.theory import degenerate


@dataclass(frozen=True)
class Condition:
    """One condition.

    Attributes:
        key: in links and on the command line.
        name: what a scheme has to do, as "work with a single example".
        asks: what that asks of its fields, in a sentence without its capital and its full stop.
        met: (scheme, shape of the summed inputs) -> whether it does.
    """

    key: str
    name: str
    asks: str
    met: Callable[[Scheme, Shape], bool]


def _spans(scheme: Scheme, axes: str) -> bool:
    """Whether a field of the activations reaches along one of these axes, whatever their length."""
    fields = () if scheme.acts_on == "weight" else scheme.fields
    return any(field.rules["NHWC".index(axis)] != OWN for field in fields for axis in axes)


def _keeps(scheme: Scheme) -> bool:
    weights = scheme.on_weights
    return _spans(scheme, "N") or bool(weights is not None and weights.keeps)


def _alone(scheme: Scheme, shape: Shape) -> bool:
    """Whether x̂ of a single example is more than zeros and signs."""
    one = (1, *shape[1:])
    try:
        if scheme.acts_on != "weight":
            scheme.check(one)
    except InvalidInput:
        return False
    return degenerate(scheme, one, 0.0) is None


CONDITIONS = {
    each.key: each
    for each in (
        Condition(
            "single",
            "work with N = 1",
            "its fields have to hold more than one element of one example, and have no groups of examples",
            _alone,
        ),
        Condition(
            "nothing-kept",
            "keep nothing for inference",
            "no field may reach over the examples, and no scheme of the weights may keep singular vectors",
            lambda scheme, shape: not _keeps(scheme),
        ),
        Condition(
            "independent",
            "not depend on other examples",
            "no field may reach over the examples",
            lambda scheme, shape: not _spans(scheme, "N"),
        ),
        Condition(
            "unequal-lengths",
            "take sequences of unequal lengths",
            "no field may reach over the examples or the positions",
            lambda scheme, shape: not _spans(scheme, "NHW"),
        ),
        Condition(
            "gain-only",
            "do with γ alone",
            "nothing may be centred, as only β gives a mean back",
            lambda scheme, shape: scheme.summation is None,
        ),
    )
}
"""All conditions by key."""
