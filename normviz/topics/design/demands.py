"""Demands on a scheme: invariances and conditions that it must have or must not have."""

from collections.abc import Collection
from dataclasses import dataclass, replace

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.registry import WEIGHT_SCHEMES, Scheme
from normviz.core.text import join_words
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.conditions import CONDITIONS

SHAPES: dict[str, tuple[Shape, Shape]] = {"dense": ((8, 1, 1, 8), (1, 1, 16, 8)), "conv": ((8, 4, 4, 8), (3, 3, 4, 8))}
"""Shapes of pre-activations (N, H, W, C) and weights (kh, kw, Cin, Cout) by layer: two groups hold several each."""

WEIGHT_KEYS = ("none", *WEIGHT_SCHEMES)
"""Keys of the weight schemes that may stand in front of the layer's scheme, and "none"."""

ANY_KEY = "any"
"""Stands for all of `WEIGHT_KEYS`."""

Invariances = tuple[str, ...]
"""Keys of transformations, in the order of `TRANSFORMATIONS`."""

DEMANDABLE = (*TRANSFORMATIONS, *CONDITIONS)
"""Keys of everything that may be demanded: transformations and conditions."""

Demand = tuple[str, bool]
"""A key of `DEMANDABLE`, and True if a scheme must have it, False if it must not."""


@dataclass(frozen=True)
class Demands:
    """Demands on a scheme: invariances, changes to which it must not be invariant, and other conditions.

    Attributes:
        layer: "dense" or "conv".
        need, without: keys of transformations that must, or must not, cancel.
        weights: keys of the allowed weight schemes, of `WEIGHT_KEYS`.
        conditions: keys of `CONDITIONS` that must be met.

    Raises:
        InvalidInput: an unknown layer, transformation, weight scheme or condition, or one transformation both ways.
    """

    layer: str
    need: Invariances = ()
    without: Invariances = ()
    weights: tuple[str, ...] = ("none",)
    conditions: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_layer(self.layer)
        for key in (*self.need, *self.without):
            if key not in TRANSFORMATIONS:
                raise InvalidInput(f"{key!r} is not a transformation; {join_words(TRANSFORMATIONS)} would do.")
        for key in self.weights:
            if key not in WEIGHT_KEYS:
                raise InvalidInput(
                    f"{key!r} is not a scheme of weights; {join_words([ANY_KEY, *WEIGHT_KEYS])} would do."
                )
        for key in self.conditions:
            if key not in CONDITIONS:
                raise InvalidInput(f"{key!r} is not a condition; {join_words(CONDITIONS)} would do.")
        if both := set(self.need) & set(self.without):
            raise InvalidInput(f"{join_words(sorted(both), 'and')} cannot be both needed and excluded.")

    @property
    def all_demands(self) -> tuple[Demand, ...]:
        """All demands as pairs: key of a transformation or condition, and True if the scheme must have it."""
        asked = dict.fromkeys((*self.need, *self.conditions), True) | dict.fromkeys(self.without, False)
        return tuple((key, asked[key]) for key in DEMANDABLE if key in asked)

    def are_met_by(self, properties: Collection[str]) -> bool:
        """Return True if a scheme with these properties, keys of `DEMANDABLE`, meets all demands."""
        return not self.find_missed(properties)

    def find_missed(self, properties: Collection[str]) -> tuple[str, ...]:
        """Return the keys of unmet demands, for a scheme with these properties (keys of `DEMANDABLE`)."""
        return tuple(key for key, wanted in self.all_demands if (key in properties) != wanted)


def make_exact_demands(transformations: Invariances, layer: str, weight_keys: tuple[str, ...]) -> Demands:
    """Return demands for these invariances and no other, with the allowed weight schemes."""
    without = tuple(key for key in TRANSFORMATIONS if key not in transformations)
    return Demands(layer, transformations, without, weight_keys)


def get_normalized_shape(scheme: Scheme, layer: str) -> Shape:
    """Return the shape of the tensor that a scheme normalizes in a layer."""
    activations, weights = SHAPES[layer]
    return weights if scheme.activation_part is None else activations


def check_layer(layer: str) -> None:
    """Raise InvalidInput for an unknown layer."""
    if layer not in SHAPES:
        raise InvalidInput(f"layer {layer!r} is unknown; {join_words(SHAPES)} would do.")


def parse_weight_keys(text: str) -> tuple[str, ...]:
    """Return the keys of the weight schemes that a text allows: "any", "none" or the key of one."""
    return WEIGHT_KEYS if text == ANY_KEY else (text,)


def adapt_scheme_to_demands(scheme: Scheme, demands: Demands) -> Scheme:
    """Return a scheme without β if the demands say that γ alone is learned, else unchanged."""
    return replace(scheme, bias=None) if any(CONDITIONS[key].unbiased for key in demands.conditions) else scheme
