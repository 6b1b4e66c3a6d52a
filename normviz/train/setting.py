"""The setting of a training of twins, declared once for the command line, the page and the tests."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.core.settings import DependentValue, choice, integer, real
from normviz.core.transformations import LAYERS, OPTIMIZERS
from normviz.data.digits import DIGIT_SIDE

DTYPES = ("float64", "float32", "bfloat16", "float16")
HALF_DTYPES = DTYPES[2:]
"""Half-precision types. As in mixed precision, only input and output of the first layer's normalization are rounded to
the type; everything else, sums included, is float32."""

DEVICES = {"auto": "Fastest available", "cpu": "CPU", "cuda": "CUDA", "mps": "Apple MPS"}
DEFAULT_RATES = {"sgd": 0.1, "momentum": 0.02, "adam": 0.01}
DEFAULT_WIDTHS = {"dense": 32, "conv": 8}

INITIAL_BIAS = 0.1
"""β of every normalized layer before training. At β = 0 a position without ink, where x̂ = 0 exactly, would lie on the
kink of ReLU, and rounding would choose the derivative."""

MOMENTUM, BETAS = 0.9, (0.9, 0.999)
GRADIENT_NOISE_FACTOR = 64
"""Adam treats a gradient as zero if it is at most this many rounding errors of its tensor's largest gradient, each
times the largest weight of its unit: a gradient of rounding alone would move its weight as far as any other."""


@dataclass(frozen=True)
class Setting:
    """Setting of a Table 1 training: networks, transformation size and optimizer. Raises InvalidInput if out of bounds.

    A convolution has filters of 3 × 3, and of 2 × 2 from four layers on. Momentum is 0.9, Adam's β are 0.9 and 0.999,
    and its ε is tiny. The default learning rate depends on the optimizer, the default width on the layer.
    """

    layer: str = choice("dense", LAYERS, label="Layer", shown=str.capitalize)
    delta: float = real(
        3.0, 1e-3, 1e3, label="δ (re-scaling factor)", symbol="δ", control="drag", entered=(-1e3, 1e3),
        because="the claims are about δ > 0; 0 leaves nothing, and a negative factor flips every sign",
        stops=(1e-3, 3e-3, 0.01, 0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0, 30.0, 100.0, 300.0, 1e3),
    )  # fmt: skip
    shift: float = real(
        0.5, 1e-3, 1e3, label="τ (size of the shift)", symbol="τ", stops=(0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0),
        help="Standard deviation of what a re-centring adds: to data from 0 to 1, and relative to that of the weights.",
    )  # fmt: skip
    eps: float = real(
        0.0, 0.0, 1e3, label="ε (smoothing term)", symbol="ε", control="drag",
        help="Of every scheme that divides activations; schemes of the weights have none.",
        stops=(0.0, *(10.0**k for k in range(-15, 2))),
    )  # fmt: skip
    dtype: str = choice(
        "float64", DTYPES, label="Precision",
        help="What the first layer's normalization takes and gives is rounded to it; half types go with float32.",
    )  # fmt: skip
    optimizer: str = choice("sgd", dict(zip(OPTIMIZERS, ("SGD", "Momentum", "Adam"), strict=True)), label="Optimizer")
    rate: float = real(
        DependentValue("optimizer", DEFAULT_RATES), 1e-6, 1e9, label="Learning rate",
        stops=tuple(m * 10.0**k for k in range(-4, 7) for m in (1, 2, 5)),
    )  # fmt: skip
    steps: int = integer(100, 1, 2000, label="Steps", stops=(5, 10, 20, 50, 100, 200, 500, 1000, 2000))
    batch: int = integer(32, 2, 256, label="Batch size", stops=(2, 4, 8, 16, 32, 64, 128, 256))
    width: int = integer(
        DependentValue("layer", DEFAULT_WIDTHS), 2, 128,
        label=DependentValue("layer", {"dense": "Units", "conv": "Channels"}),
        stops=(2, 4, 8, 16, 32, 64, 128),
    )  # fmt: skip
    depth: int = integer(1, 1, 4, label="Normalized layers", control="slider")
    seed: int = integer(0, 0, 9999, label="Seed", help="Of the digits' order, the first weights and the shifts.")
    device: str = choice("auto", DEVICES, label="Train on")

    @property
    def storage(self) -> str:
        """The name of the dtype of all tensors except the input and output of the first layer's normalization."""
        return "float32" if self.dtype in HALF_DTYPES else self.dtype

    @property
    def in_float64(self) -> "Setting":
        """This setting with dtype float64, to tell effects of low-precision rounding from others."""
        return self if self.dtype == "float64" else replace(self, dtype="float64")

    @property
    def kernel(self) -> int:
        """The side length of the filters; 1 for dense layers."""
        return 1 if self.layer == "dense" else 3 if self.depth < 4 else 2

    @property
    def shapes(self) -> tuple[Shape, ...]:
        """The shapes (N, H, W, C) of the pre-activations of every normalized layer."""
        sides = (
            (DIGIT_SIDE - (self.kernel - 1) * (layer + 1)) if self.layer == "conv" else 1 for layer in range(self.depth)
        )
        return tuple((self.batch, side, side, self.width) for side in sides)

    @property
    def weight_shapes(self) -> tuple[Shape, ...]:
        """The shapes (kh, kw, Cin, Cout) of the weights of every normalized layer."""
        first = DIGIT_SIDE**2 if self.layer == "dense" else 1
        return tuple(
            (self.kernel, self.kernel, first if layer == 0 else self.width, self.width) for layer in range(self.depth)
        )

    def check(self, schemes: Sequence[Scheme]) -> None:
        """Raise InvalidInput if a field of one of these schemes does not fit the layers."""
        for scheme in schemes:
            for on, shapes in ((scheme.activation_part, self.shapes), (scheme.weight_part, self.weight_shapes)):
                if on is not None:
                    for shape in shapes:
                        on.check(shape)
