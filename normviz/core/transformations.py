"""The six columns of Table 1 (Ba, Kiros & Hinton 2016) as data.

Each changes the summed inputs by a factor and a shift, a' = s·a + t. All that decides invariance is along which
axes s and t vary, on the activations (N, H, W, C) and, for changes of the weights, on (kh, kw, Cin, Cout) too.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field

from normviz.core.errors import InvalidInput
from normviz.core.rows import index_by_key

LAYERS = ("dense", "conv")
OPTIMIZERS = ("sgd", "momentum", "adam")


@dataclass(frozen=True)
class Transformation:
    """Transformation of the weights or the data: one column of Table 1 (Ba et al. 2016).

    Attributes:
        key, name: in links and on the command line; in sentences.
        plain: what is changed, as text: W′ = δW. The paper writes γ for the shift τ.
        on: "weights" or "data".
        factor: the axes of a along which s varies; None: s = 1. An empty tuple: one δ for all.
        shift: by layer, the axes of a along which t varies; empty: t = 0.
        weight_factor, weight_shift: the same on the weight tensor itself; None: no such change.
        varies, weight_varies: why s or t varies so, on the summed inputs and on the weights.
    """

    key: str
    name: str
    plain: str
    on: str
    factor: tuple[str, ...] | None = None
    shift: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    weight_factor: tuple[str, ...] | None = None
    weight_shift: tuple[str, ...] | None = None
    varies: str = ""
    weight_varies: str = ""

    def compute_rate_factor(self, optimizer: str, delta: float) -> float:
        """Return the factor on the learning rate with which weights δ (`delta`) times as large train like the original.

        The gradient of weights that are δ times as large is 1/δ of the original's, and must move them δ times as far:
        δ² for SGD, with or without momentum. Adam's steps do not depend on the gradient's size, so δ. All other changes
        leave the gradient of the weights as it is: 1.
        """
        if optimizer not in OPTIMIZERS:
            raise InvalidInput(f"{optimizer!r} is not an optimizer; {', '.join(OPTIMIZERS)} are.")
        if self.weight_factor is None:
            return 1.0
        return delta if optimizer == "adam" else delta**2


TRANSFORMATIONS: dict[str, Transformation] = index_by_key(
    Transformation(
        "weight-matrix-rescaling",
        "weight matrix re-scaling",
        "W′ = δW",
        on="weights",
        factor=(),
        weight_factor=(),
        varies="one factor for all summed inputs",
        weight_varies="one factor for all weights",
    ),
    Transformation(
        "weight-matrix-recentering",
        "weight matrix re-centring",
        "wᵢ′ = wᵢ + τ for every unit i",
        on="weights",
        shift={"dense": ("N",), "conv": ("N", "H", "W")},
        weight_shift=("kh", "kw", "Cin"),
        varies="τ·x is added, which differs from input to input but not from unit to unit",
        weight_varies="τ differs from one input of a unit to the next",
    ),
    Transformation(
        "weight-vector-rescaling",
        "weight vector re-scaling",
        "wᵢ′ = δwᵢ for one unit i",
        on="weights",
        factor=("C",),
        weight_factor=("Cout",),
        varies="the factor of one unit differs from that of the others",
        weight_varies="the factor of one unit differs from that of the others",
    ),
    Transformation(
        "dataset-rescaling",
        "dataset re-scaling",
        "x′ = δx",
        on="data",
        factor=(),
        varies="one factor for all summed inputs",
    ),
    Transformation(
        "dataset-recentering",
        "dataset re-centring",
        "x′ = x + τ for every example",
        on="data",
        shift={"dense": ("C",), "conv": ("C",)},
        varies="wᵢ·τ is added, which differs from unit to unit but not from example to example",
    ),
    Transformation(
        "case-rescaling",
        "single training case re-scaling",
        "xₙ′ = δxₙ for one example n",
        on="data",
        factor=("N",),
        varies="the factor of one example differs from that of the others",
    ),
)
"""The columns by key, in the paper's order."""

PAPER_TABLE = {
    "batch": (True, False, True, True, True, False),
    "weight": (True, False, True, False, False, False),
    "layer": (True, True, False, True, False, True),
}
"""Ba, Kiros & Hinton 2016, Table 1, transcribed: a row per scheme, in the order of `TRANSFORMATIONS`."""


def look_up_paper_cell(scheme: str, transformation: str) -> bool | None:
    """Return the entry of Table 1 in the paper: True for invariant; None if the paper has no such row."""
    row = PAPER_TABLE.get(scheme)
    return None if row is None else row[list(TRANSFORMATIONS).index(transformation)]
