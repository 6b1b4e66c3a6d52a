"""Pairs of normalizations that are the same, or are believed to be, with the shapes for which that holds.

An identity states that both sides give the same x̂ exactly if its condition on the shape is met. A belief states the
same wrongly: it is refuted on all shapes that meet its condition. Both are measured on a tensor, by the largest
difference of the two x̂.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from normviz.core.equality import compute_xhat, find_largest_difference
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, FULL, Field, Rule, Shape, find_divisors
from normviz.core.normalize import ignore_float_warnings
from normviz.core.reductions import centre
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme, get_scheme
from normviz.core.rows import index_by_key

FULL_REACH_RADIUS = 16
"""Radius of windows that cover a whole axis of up to 17 indices."""


@dataclass(frozen=True)
class ShapeCondition:
    """Condition on a shape: its text, its test, and a function that returns the nearest shape that meets it."""

    words: str
    met: Callable[[Shape], bool]
    mend: Callable[[Shape], Shape]

    def __and__(self, other: "ShapeCondition") -> "ShapeCondition":
        """Return the condition that is met if both are; the two must be on different axes."""
        return ShapeCondition(
            f"{self.words} and {other.words}",
            lambda shape: self.met(shape) and other.met(shape),
            lambda shape: other.mend(self.mend(shape)),
        )


def _get_axis_lengths(axes: str, shape: Shape) -> list[int]:
    return [n for n, name in zip(shape, AXES["activation"], strict=True) if name in axes]


def _change_axis_lengths(axes: str, shape: Shape, convert_length: Callable[[int], int]) -> Shape:
    named = zip(shape, AXES["activation"], strict=True)
    return tuple(convert_length(n) if name in axes else n for n, name in named)


def require_length_one(axes: str) -> ShapeCondition:
    """Make the shape condition, such as "H = W = 1", that all of these axes have length 1."""
    return ShapeCondition(
        f"{' = '.join(axes)} = 1",
        lambda shape: all(n == 1 for n in _get_axis_lengths(axes, shape)),
        lambda shape: _change_axis_lengths(axes, shape, lambda n: 1),
    )


def make_any_longer_condition(axes: str) -> ShapeCondition:
    """Return the condition that at least one of these axes is longer than 1, such as "H > 1 or W > 1"."""
    return ShapeCondition(
        " or ".join(f"{axis} > 1" for axis in axes),
        lambda shape: any(n > 1 for n in _get_axis_lengths(axes, shape)),
        lambda shape: (
            shape
            if any(n > 1 for n in _get_axis_lengths(axes, shape))
            else _change_axis_lengths(axes[0], shape, lambda n: 2)
        ),
    )


def make_length_limit(axes: str, longest: int) -> ShapeCondition:
    """Make the shape condition, such as "H, W, C ≤ 17", that these axes have at most this length."""
    return ShapeCondition(
        f"{', '.join(axes)} ≤ {longest}",
        lambda shape: all(n <= longest for n in _get_axis_lengths(axes, shape)),
        lambda shape: _change_axis_lengths(axes, shape, lambda n: min(n, longest)),
    )


ANY_SHAPE = ShapeCondition("any shape", lambda shape: True, lambda shape: shape)

XhatFunction = Callable[[np.ndarray, Scheme, float], np.ndarray]
"""(tensor, scheme, ε) -> x̂."""


@ignore_float_warnings
def compute_centred_xhat(x: np.ndarray, scheme: Scheme, eps: float) -> np.ndarray:
    """Compute x̂ of x − E_B[x], the input minus its mean over the field of the scheme's divisor."""
    return compute_xhat(centre(x, scheme.fields[-1])[0], scheme, eps)


@ignore_float_warnings
def divide_by_length(w: np.ndarray, scheme: Scheme, eps: float) -> np.ndarray:
    """Compute v/‖v‖ of every unit's weight vector v, 0 if v = 0 (Salimans & Kingma 2016, eq. 2 with g = 1)."""
    length = np.sqrt(np.sum(np.square(w), axis=(0, 1, 2)))
    return w / np.where(length == 0, 1, length)


@dataclass(frozen=True)
class IdentitySide:
    """One side of a claimed identity: the scheme for a shape, or another computation of x̂.

    `words` are added to the scheme's name; `lines` are names of its formulas in `notation.build_formulas`.
    """

    scheme: Callable[[Shape], Scheme]
    compute: XhatFunction = compute_xhat
    words: str = ""
    lines: tuple[str, ...] = ("mean", "variance", "mean square", "covariance", "normalized", "where")


@dataclass(frozen=True)
class Identity:
    """Two computations that are claimed to give the same x̂, and the condition under which they do.

    Attributes:
        question: whether both sides give the same x̂; `because`: the reason of the answer.
        condition: the only shapes on which an identity holds, or the shapes that refute a belief.
        holds: False for a belief, which is refuted.
        sources: ids of the claims with this statement.
    """

    key: str
    question: str
    left: IdentitySide
    right: IdentitySide
    because: str
    condition: ShapeCondition = ANY_SHAPE
    holds: bool = True
    sources: tuple[str, ...] = ()

    @property
    def sides(self) -> tuple[IdentitySide, IdentitySide]:
        """Both sides, left and right."""
        return self.left, self.right


def _make_scheme_side(key: str) -> IdentitySide:
    return IdentitySide(lambda shape: SCHEMES[key])


def _make_group_norm_side(count: Callable[[Shape], int]) -> IdentitySide:
    return IdentitySide(lambda shape: get_scheme("group", groups=count(shape)))


def _make_whitening_side(count: Callable[[Shape], int]) -> IdentitySide:
    return IdentitySide(lambda shape: get_scheme("whitening", groups=count(shape)))


def _find_uneven_group_count(shape: Shape) -> int:
    """Return the smallest number of groups > 1 that differs from their size; 1 for a single channel."""
    channels = shape[-1]
    return next((g for g in find_divisors(channels) if g > 1 and g * g != channels), 1)


def make_windowed_scheme(scheme: Scheme, radius: int) -> Scheme:
    """Return divisive norm with windows along the axes over which another scheme averages.

    From a radius of n − 1 on, n the longest of these axes, it is the other scheme.

    Raises:
        InvalidInput: a scheme without a field.

    Source: Ren et al. 2017, Table 2: the ranges under which the general form is batch norm or layer norm.
    """
    if scheme.field is None:
        raise InvalidInput(f"{scheme.name} has no field that windows could be widened to.")
    field = Field(tuple(Rule("window", radius) if rule == FULL else rule for rule in scheme.field.rules))
    return SCHEMES["divisive"].with_fields(field, field)


def _make_window_identity(key: str, axes: str, question: str) -> Identity:
    """Make the identity of the scheme `key` and divisive norm with windows that cover `axes`, the averaged axes."""
    scheme = make_windowed_scheme(SCHEMES[key], FULL_REACH_RADIUS)
    return Identity(
        f"windows-{key}", question, IdentitySide(lambda shape: scheme), _make_scheme_side(key),
        f"A window of radius {FULL_REACH_RADIUS} holds the whole of a shorter axis, around every element.",
        make_length_limit(axes, FULL_REACH_RADIUS + 1), sources=("D01",),
    )  # fmt: skip


IDENTITIES: dict[str, Identity] = index_by_key(
    Identity(
        "one-group", "Layer norm averages over H, W and C. Is group norm with one group the same?",
        _make_group_norm_side(lambda shape: 1),
        _make_scheme_side("layer"), "One group holds all channels of an example.", sources=("G01",),
    ),
    Identity(
        "all-groups", "Is group norm with C groups the same as instance norm?",
        _make_group_norm_side(lambda shape: shape[-1]),
        _make_scheme_side("instance"), "Each group holds one channel of an example.", sources=("G02",),
    ),
    Identity(
        "one-channel", "With one channel: is layer norm the same as instance norm?", _make_scheme_side("layer"),
        _make_scheme_side("instance"), "The only channel of an example is its whole layer.", require_length_one("C"),
        sources=("I03",),
    ),
    Identity(
        "one-case", "With one example: is batch norm the same as instance norm?", _make_scheme_side("batch"),
        _make_scheme_side("instance"),
        "The only example is the whole mini-batch.", require_length_one("N"), sources=("I02",),
    ),
    Identity(
        "over-positions", "Is layer norm over H and W the same as instance norm?", _make_scheme_side("layer-spatial"),
        _make_scheme_side("instance"), "Some texts call this layer norm for convolutions. Only the name differs.",
        sources=("L04",),
    ),
    Identity(
        "over-positions-one-case", "With one example: is layer norm over H and W the same as batch norm?",
        _make_scheme_side("layer-spatial"), _make_scheme_side("batch"),
        "One example is the whole batch. Layer norm over H, W and C would also need C = 1.", require_length_one("N"),
        sources=("L05",),
    ),
    Identity(
        "dense", "After a dense layer (H = W = 1): is layer norm over H, W, C the same as layer norm over C?",
        _make_scheme_side("layer"), _make_scheme_side("layer-channels"),
        "Without positions, the channels of an example are its whole layer.",
        require_length_one("HW"),
    ),
    Identity(
        "centred-rms", "Is RMS norm of a centred input the same as layer norm over C?",
        IdentitySide(lambda shape: SCHEMES["rms"], compute_centred_xhat, "of x without its mean over the channels"),
        _make_scheme_side("layer-channels"),
        "RMS norm only omits the mean. With mean 0, the mean square is the variance.",
        sources=("R01",),
    ),
    Identity(
        "whitening-alone", "Is decorrelated batch norm with C groups the same as batch norm?",
        _make_whitening_side(lambda shape: shape[-1]), _make_scheme_side("batch"),
        "The covariance matrix of a single channel is its variance: nothing is left to be decorrelated.",
    ),
    _make_window_identity("batch", "NHW", "Is divisive norm with windows across N, H, W the same as batch norm?"),
    _make_window_identity("layer", "HWC", "Is divisive norm with windows across H, W, C the same as layer norm?"),
    Identity(
        "weight-length", "Is weight norm v/‖v‖ the same as RMS norm of each unit’s weights, over √fan-in?",
        IdentitySide(lambda shape: SCHEMES["weight"], divide_by_length, "by length", ("where",)),
        IdentitySide(lambda shape: SCHEMES["weight"], words="in general form", lines=("mean square", "normalized")),
        "A vector's length is its root mean square times the root of its number of elements. Your tensor is read as "
        f"weights ({', '.join(AXES['weight'])}).", sources=("W01",),
    ),
    Identity(
        "layer-is-batch-at-one-case", "With one example: is layer norm the same as batch norm?",
        _make_scheme_side("layer"),
        _make_scheme_side("batch"), "Layer norm mixes the channels, and batch norm never does.",
        require_length_one("N") & make_any_longer_condition("C"), holds=False, sources=("L05",),
    ),
    Identity(
        "layer-is-over-positions", "Is layer norm the same as each channel’s picture normalized alone?",
        _make_scheme_side("layer"), _make_scheme_side("layer-spatial"),
        "That is instance norm: in layer norm all channels share one mean and one variance.",
        make_any_longer_condition("C"), holds=False, sources=("L04",),
    ),
    Identity(
        "layer-is-over-the-batch", "Is layer norm the same as batch norm?", _make_scheme_side("layer"),
        _make_scheme_side("batch"),
        "Layer norm averages over all channels of one example, batch norm over all examples for each channel.",
        make_any_longer_condition("NC"), holds=False, sources=("L06",),
    ),
    Identity(
        "layer-is-its-default", "Is layer norm over H, W, C the same as layer norm over the last axis only?",
        _make_scheme_side("layer"), _make_scheme_side("layer-channels"),
        "Over the last axis each position has a mean and variance of its own. Over H, W, C all positions share them.",
        make_any_longer_condition("HW"), holds=False, sources=("L08",),
    ),
    Identity(
        "groups-are-sizes", "Is group norm with G groups the same as group norm with G channels in each group?",
        _make_group_norm_side(_find_uneven_group_count),
        _make_group_norm_side(lambda shape: shape[-1] // _find_uneven_group_count(shape)),
        "Frameworks count groups: G groups have C/G channels each, which is G only where G² = C.",
        make_any_longer_condition("C"), holds=False, sources=("G03",),
    ),
    Identity(
        "whitening-is-batch", "Is decorrelated batch norm (whitening) the same as batch norm?",
        _make_whitening_side(lambda shape: 1), _make_scheme_side("batch"),
        "Batch norm keeps the correlations between channels. Whitening removes them too.",
        make_any_longer_condition("C") & make_any_longer_condition("NHW"), holds=False,
    ),
    Identity(
        "rms-is-layer", "Is RMS norm the same as layer norm over C?", _make_scheme_side("rms"),
        _make_scheme_side("layer-channels"),
        "RMS norm does not subtract the mean. The two agree only where the mean is already 0.", holds=False,
        sources=("R01",),
    ),
)  # fmt: skip
"""All identities by key; the refuted beliefs come last."""


def evaluate_sides(identity: Identity, x: np.ndarray, eps: float = DEFAULT_EPS) -> tuple[np.ndarray, np.ndarray]:
    """Compute x̂ of both sides; x is (N, H, W, C), or (kh, kw, Cin, Cout) for schemes of weights."""
    left, right = (side.compute(x, side.scheme(x.shape), eps) for side in identity.sides)
    return left, right


def measure_residual(identity: Identity, x: np.ndarray, eps: float = DEFAULT_EPS) -> float:
    """Measure max|x̂_left - x̂_right| / max|x̂|, whether or not the condition is met."""
    return find_largest_difference(*evaluate_sides(identity, x, eps)).residual
