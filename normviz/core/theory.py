"""Predict Table 1: one rule for every scheme, every transformation and any fields.

Let a transformation turn a into s·a + t. A scheme is invariant to a factor s if it divides and s is constant inside
each of its fields. It is invariant to a shift t if it centres and t is constant inside each summation field. Both hold
for δ > 0 and ε = 0. A scheme on the weights follows the same rule for changes of the weights. Changes of the data pass
through it to the scheme on the activations.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXIS_NAMES, FULL, Field, Shape
from normviz.core.registry import Scheme
from normviz.core.text import typeset
from normviz.core.tolerances import INVARIANCE_TOLERANCES
from normviz.core.transformations import LAYERS, TRANSFORMATIONS, Transformation


@dataclass(frozen=True)
class Prediction:
    """Prediction for one cell of Table 1: is the output of a scheme invariant to a transformation, and why.

    Attributes:
        invariant: True if the output does not change.
        reason: why, as a sentence without its capital.
        fades: True if the scheme is invariant at ε = 0, and less and less as ε grows.
    """

    invariant: bool
    reason: str
    fades: bool = False


def predict(
    scheme: Scheme, transformation: Transformation, layer: str, shape: Shape, weight_shape: Shape, eps: float = 0.0
) -> Prediction:
    """Predict whether a scheme is invariant to a transformation of a layer.

    Args:
        scheme, transformation: a row and a column of Table 1.
        layer: "dense" or "conv".
        shape: shape (N, H, W, C) of the pre-activations.
        weight_shape: shape (kh, kw, Cin, Cout) of the weights.
        eps: ε of the scheme on the activations; a scheme on the weights has no ε.

    Raises:
        InvalidInput: an unknown layer.

    >>> from normviz import get_scheme
    >>> rescaling = TRANSFORMATIONS["weight-vector-rescaling"]
    >>> predict(get_scheme("batch"), rescaling, "dense", (32, 1, 1, 8), (1, 1, 16, 8)).invariant
    True
    >>> predict(get_scheme("layer"), rescaling, "dense", (32, 1, 1, 8), (1, 1, 16, 8)).invariant
    False
    """
    if layer not in LAYERS:
        raise InvalidInput(f"layer {layer!r} is unknown; {', '.join(LAYERS)} are known.")
    weights = scheme.weight_part
    name = scheme.name
    if weights is not None and transformation.on == "weights":
        factor, shift = transformation.weight_factor, transformation.weight_shift
        own = _predict_tensor_invariance(weights, factor, shift, weight_shape, transformation.weight_varies)
        if own.invariant:
            return Prediction(True, f"{weights.name} cancels it before anything is summed: {own.reason}")
        if weights is scheme:
            return Prediction(False, f"{name} does not cancel it: {own.reason}")
        if transformation.weight_shift is not None and weights.suppression is not None:
            crossed = name_spanned_axes((weights.suppression,), weights.axes, ("Cout",), weight_shape)
            if not crossed:
                reason = "it divides each changed vector by its new length, so that no common shift is left to subtract"
                return Prediction(False, f"{weights.name} stands in front: {reason}.")
            if scheme.suppression is None:
                reason = "it divides all weights by one number, which the shift changes, and nothing cancels it"
                return Prediction(False, f"{weights.name} stands in front: {reason}.")
    if weights is not None and _has_zero_mean_filters(weights, transformation, weight_shape):
        return Prediction(True, f"{weights.name} centres each filter, so that a constant input sums to nothing.")
    if scheme.activation_part is None:
        return Prediction(False, f"{transformation.name}: the data are not used, so their change stays.")
    shift = transformation.shift.get(layer)
    verdict = _predict_tensor_invariance(scheme, transformation.factor, shift, shape, transformation.varies)
    but = f"ε = {typeset(eps)} under the root is not re-scaled"
    if verdict.invariant and transformation.factor is not None and eps > 0:
        return Prediction(False, f"{transformation.name}: constant inside every field, but {but}.", fades=True)
    if verdict.invariant and weights is not None and transformation.weight_shift is not None:
        reason = "it divides all weights by one number, which the shift changes"
        if eps > 0:
            return Prediction(False, f"{weights.name} stands in front: {reason}, and {but}.", fades=True)
        so = f"{transformation.name}: {verdict.reason.removesuffix('.')}"
        return Prediction(True, f"{so}; {weights.name} stands in front: {reason}, and that factor cancels.")
    return Prediction(verdict.invariant, f"{transformation.name}: {verdict.reason}")


def find_invariances(scheme: Scheme, layer: str, shape: Shape, weight_shape: Shape) -> tuple[str, ...]:
    """Return the keys of the `TRANSFORMATIONS` to which a scheme in a "dense" or "conv" layer is invariant at ε = 0.

    The arguments are those of `predict`.
    """
    found = (predict(scheme, each, layer, shape, weight_shape) for each in TRANSFORMATIONS.values())
    return tuple(key for key, verdict in zip(TRANSFORMATIONS, found, strict=True) if verdict.invariant)


@lru_cache(maxsize=1024)
def explain_degeneracy(scheme: Scheme, shape: Shape, eps: float, dtype: str = "float64") -> str | None:
    """Return why invariance is trivial on this shape, such as x̂ = 0 everywhere, in a sentence; None if it is not.

    A centred field of one element is zero, whatever ε is. The other reasons, those of `explain_sign_only`, are exact at
    ε = 0, and hold to the tolerance of the type while ε is below it, for numbers of about 1 as those of Table 1 are.
    """
    if scheme.activation_part is None:
        return None
    if scheme.summation is not None and scheme.summation.find_smallest_size(shape) == 1:
        return "A field of one element, centred, is zero."
    reason = explain_sign_only(scheme, shape)
    if reason is None or eps > INVARIANCE_TOLERANCES[dtype]:
        return None
    return f"{reason}{f', but for ε = {typeset(eps)}' if eps else ''}."


@lru_cache(maxsize=1024)
def explain_sign_only(scheme: Scheme, shape: Shape) -> str | None:
    """Return why x̂ has only the values -1, 0 and 1 at a small ε, without a full stop; None if it has more.

    An element that divides itself leaves its sign, and a centred pair that divides itself +1 and -1. Of windows this
    is so only where both elements of a pair have the same one.
    """
    a, b = (None if field is None else field.simplify(shape) for field in (scheme.summation, scheme.suppression))
    if b is None:
        return None
    if b.find_smallest_size(shape) == 1:
        return "An element divided by its own size leaves only its sign"
    if a == b and not a.windowed_axes and a.find_smallest_size(shape) == 2:
        return "A field of two elements, centred and divided by itself, is always +1 and −1"
    return None


def _has_zero_mean_filters(weight_scheme: Scheme, transformation: Transformation, weight_shape: Shape) -> bool:
    """Return True if a shift τ of each input channel cancels, since the normalized weights have mean zero."""
    if transformation.on != "data" or transformation.factor is not None or weight_scheme.summation is None:
        return False
    field = weight_scheme.summation.simplify(weight_shape)
    covers_all_inputs = all(rule == FULL for rule in field.rules[:3])
    return covers_all_inputs and weight_shape[2] == 1


def _predict_tensor_invariance(
    scheme: Scheme, factor: tuple[str, ...] | None, shift: Iterable[str] | None, shape: Shape, varies: str
) -> Prediction:
    """Predict whether x̂ is invariant to a factor, or to a shift, that varies along these axes."""
    alone = scheme.kind.explain_missing_invariance()
    if alone is not None:
        stays = "a shift is not subtracted" if factor is None else "a factor is not divided out"
        return Prediction(False, f"{alone}, so {stays}.")
    if factor is not None:
        if scheme.suppression is None:
            return Prediction(False, "nothing divides, so a factor stays.")
        crossed = name_spanned_axes(scheme.fields, scheme.axes, factor, shape)
        if crossed:
            return Prediction(
                False,
                f"{varies}, and the field spans {crossed}: the factor differs among elements that share a statistic.",
            )
        return Prediction(True, f"{varies}, constant inside every field: the factor cancels.")
    if scheme.summation is None:
        return Prediction(False, "nothing is centred, so a shift stays.")
    crossed = name_spanned_axes((scheme.summation,), scheme.axes, shift or (), shape)
    if crossed:
        return Prediction(
            False,
            f"{varies}, and the summation field spans {crossed}: the shift differs among elements that share a mean.",
        )
    return Prediction(True, f"{varies}, constant inside every summation field: subtracting the mean cancels it.")


def name_spanned_axes(fields: Iterable[Field], axes: tuple[str, ...], varying: Iterable[str], shape: Shape) -> str:
    """Name the axes of `varying` along which one of the fields has several elements: "the channels"; "" if none."""
    spans = []
    for position, axis in enumerate(axes):
        bounds = (field.rules[position].compute_bounds(shape[position]) for field in fields)
        if axis in varying and any((b[:, 1] - b[:, 0]).max() > 1 for b in bounds):
            spans.append(f"the {AXIS_NAMES[axis].many}")
    return " and ".join(spans)
