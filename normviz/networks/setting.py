"""What a table is measured on: one record, checked once, for the command line, the page and the tests."""

from collections.abc import Sequence
from dataclasses import dataclass

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape
from normviz.core.schemes import Scheme
from normviz.core.transformations import LAYERS, OPTIMIZERS
from normviz.data.digits import SIDE

DTYPES = ("float64", "float32", "bfloat16", "float16")
HALF = DTYPES[2:]
"""What goes into the first layer's normalization and comes out is rounded to these, as in mixed precision; all else,
its sums too, is float32."""

DEVICES = ("auto", "cpu", "cuda", "mps")
RATES = {"sgd": 0.1, "momentum": 0.02, "adam": 0.01}
WIDTHS = {"dense": 32, "conv": 8}
FIRST_BIAS = 0.1
"""Of β: off ReLU's kink, where an empty patch has ẑ = 0 exactly, and rounding would choose the derivative."""

MOMENTUM, BETAS = 0.9, (0.9, 0.999)
NOISE = 64
"""Adam takes a gradient for zero that is smaller than this many spacings of its tensor's largest."""

LIMITS = {
    "delta": (1e-3, 1e3),
    "eps": (0.0, 1e3),
    "rate": (1e-6, 1e9),
    "steps": (1, 2000),
    "batch": (2, 256),
    "width": (2, 128),
    "depth": (1, 4),
    "seed": (0, 9999),
}


@dataclass(frozen=True)
class Setting:
    """How the twins are built, changed and trained.

    Attributes:
        layer: "dense", digits as vectors of 64; or "conv", 3 × 3 filters over them (2 × 2 from four layers on).
        delta: δ > 0, the factor of the re-scalings.
        eps: ε of every scheme that divides.
        dtype: "float64", "float32", or one of `HALF`.
        optimizer, rate: SGD, SGD with momentum 0.9, or Adam with its own ε near 0; and the learning rate, where
            None that of `RATES`.
        steps, batch: mini-batches, and cases in each.
        width, depth: units (dense) or channels (conv) of a normalized layer, where None those of `WIDTHS`, and how
            many such layers there are.
        seed: of the digits' order, the first weights and γ of the re-centrings.
        device: "auto" takes a GPU where there is one.
    """

    layer: str = "dense"
    delta: float = 3.0
    eps: float = 0.0
    dtype: str = "float64"
    optimizer: str = "sgd"
    rate: float | None = None
    steps: int = 100
    batch: int = 32
    width: int | None = None
    depth: int = 1
    seed: int = 0
    device: str = "auto"

    def __post_init__(self) -> None:
        if self.layer in WIDTHS and self.width is None:
            object.__setattr__(self, "width", WIDTHS[self.layer])
        if self.optimizer in RATES and self.rate is None:
            object.__setattr__(self, "rate", RATES[self.optimizer])
        for name, options in (
            ("layer", LAYERS),
            ("dtype", DTYPES),
            ("optimizer", OPTIMIZERS),
            ("device", DEVICES),
        ):
            if getattr(self, name) not in options:
                raise InvalidInput(f"{name} {getattr(self, name)!r} is unknown; {', '.join(options)} are known.")
        if not self.delta > 0:
            raise InvalidInput(f"δ = {self.delta:g}: the claims are about δ > 0; a negative factor flips every sign.")
        for name, (lo, hi) in LIMITS.items():
            if not lo <= getattr(self, name) <= hi:
                raise InvalidInput(f"{name} = {getattr(self, name)} is outside of {lo:g} to {hi:g}.")

    @property
    def storage(self) -> str:
        """The type of everything but the first layer's normalization."""
        return "float32" if self.dtype in HALF else self.dtype

    @property
    def kernel(self) -> int:
        """Side of the filters: 1 for dense layers."""
        return 1 if self.layer == "dense" else 3 if self.depth < 4 else 2

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """Shape (N, H, W, C) of the summed inputs of every normalized layer."""
        sides = ((SIDE - (self.kernel - 1) * (layer + 1)) if self.layer == "conv" else 1 for layer in range(self.depth))
        return tuple((self.batch, side, side, self.width) for side in sides)

    @property
    def weight_shapes(self) -> tuple[Shape, ...]:
        """Shape (kh, kw, Cin, Cout) of the weights of every normalized layer."""
        first = SIDE**2 if self.layer == "dense" else 1
        return tuple(
            (self.kernel, self.kernel, first if layer == 0 else self.width, self.width) for layer in range(self.depth)
        )

    def check(self, schemes: Sequence[Scheme]) -> None:
        """Raise InvalidInput where a scheme's fields do not fit the layers."""
        for scheme in schemes:
            for on, shapes in (
                (scheme.on_activations, self.shapes),
                (scheme.on_weights, self.weight_shapes),
            ):
                for shape in shapes if on is not None else ():
                    on.check(shape)
