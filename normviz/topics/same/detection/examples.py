"""Examples for the detector: inputs and outputs of layers of frameworks and papers."""

from dataclasses import dataclass

import numpy as np

from normviz.core.fields import Shape
from normviz.core.layouts import ALL_LAYOUTS, parse_layout
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES


@dataclass(frozen=True)
class DetectorExample:
    """Example for the detector: a layer of a framework or paper, with a random input.

    Attributes:
        name: the layer, and the shape in its layout.
        scheme: key of the scheme.
        shape, layout: of the tensor (N, H, W, C), and of the arrays.
        along: axes along which γ and β vary; empty for γ = 1 and β = 0.
    """

    name: str
    scheme: str
    shape: Shape
    layout: str
    eps: float
    along: tuple[str, ...] = ()

    def make_arrays(self) -> dict[str, np.ndarray]:
        """Return x and y = norm(x) by name, float32, in the example's layout; x has uneven channels and examples."""
        rng = np.random.default_rng(0)
        n, _, _, c = self.shape
        x = rng.standard_normal(self.shape) * rng.uniform(0.05, 2, (n, 1, 1, 1)) * rng.uniform(0.5, 1.5, c)
        x = (x + rng.uniform(-0.5, 0.5, c)).astype(np.float32)
        axes = SCHEMES[self.scheme].axes
        sizes = [size if axis in self.along else 1 for axis, size in zip(axes, self.shape, strict=True)]
        gain, bias = (rng.uniform(0.5, 2, sizes), rng.uniform(-1, 1, sizes)) if self.along else (1.0, 0.0)
        y = normalize(x.astype(float), SCHEMES[self.scheme], self.eps, gain, bias).y.astype(np.float32)
        lengths = [self.shape[axis] for axis in ALL_LAYOUTS[self.layout]]
        return {name: parse_layout(self.layout).from_tensor(a).reshape(lengths) for name, a in (("x", x), ("y", y))}


EXAMPLES = {
    "torch-conv": DetectorExample(
        "PyTorch's nn.LayerNorm((6, 5, 5)) on (4, 6, 5, 5)", "layer", (4, 5, 5, 6), "NCHW", 1e-5, ("H", "W", "C")
    ),
    "torch-tokens": DetectorExample(
        "PyTorch's nn.LayerNorm(6) on tokens (4, 7, 6)", "layer-channels", (4, 7, 1, 6), "BTC", 1e-5, ("C",)
    ),
    "torch-batch": DetectorExample(
        "PyTorch's nn.BatchNorm1d(6) on (4, 6, 7), untrained", "batch", (4, 7, 1, 6), "BCT", 1e-5
    ),
    "keras": DetectorExample(
        "Keras's LayerNormalization() on (4, 5, 5, 6), untrained", "layer-channels", (4, 5, 5, 6), "NHWC", 1e-3
    ),
    "convnext": DetectorExample(
        "ConvNeXt's LayerNorm on (4, 6, 5, 5)", "layer-channels", (4, 5, 5, 6), "NCHW", 1e-6, ("C",)
    ),
    "blog": DetectorExample("A blog's layer norm on (4, 5, 5, 6)", "layer-spatial", (4, 5, 5, 6), "NHWC", 1e-5, ("C",)),
    "dense": DetectorExample("Layer norm on a dense layer (8, 6)", "layer", (8, 1, 1, 6), "NC", 1e-5, ("C",)),
    "batch": DetectorExample("Batch norm with γ and β on (4, 6, 5, 5)", "batch", (4, 5, 5, 6), "NCHW", 1e-5, ("C",)),
    "one": DetectorExample(
        "Layer norm with γ and β on one example (1, 5, 5, 6)", "layer", (1, 5, 5, 6), "NHWC", 1e-5, ("C",)
    ),
}  # fmt: skip
"""Examples by their names in a link."""
