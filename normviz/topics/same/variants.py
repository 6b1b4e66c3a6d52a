"""The three variants of layer norm, their uses, and their invariances."""

from dataclasses import dataclass

from normviz.core.fields import Shape
from normviz.core.registry import BA_REFERENCE, SCHEMES, Scheme
from normviz.core.theory import explain_degeneracy, predict
from normviz.core.transformations import TRANSFORMATIONS

VARIANTS = ("layer", "layer-channels", "layer-spatial")
"""Keys of the variants' schemes."""


@dataclass(frozen=True)
class VariantUse:
    """Use of a variant of layer norm, a key of `VARIANTS`, by a paper, a framework or a blog, with its text's address.

    `how`: the name in the text, and the averaged axes.
    """

    variant: str
    who: str
    url: str
    how: str


TORCH_DOCS = "https://docs.pytorch.org/docs/stable/generated/torch.nn"

VARIANT_USES = (
    VariantUse("layer", BA_REFERENCE.text, str(BA_REFERENCE.url), "all hidden units of a layer share one μ and one σ; "
                                                           "every example has its own"),
    VariantUse(
        "layer", "PyTorch's documentation, image example", f"{TORCH_DOCS}.LayerNorm.html",
        "`nn.LayerNorm([C, H, W])`, with a γ and a β for each element",
    ),
    VariantUse(
        "layer", "TensorFlow 1", "https://www.tensorflow.org/versions/r1.15/api_docs/python/tf/contrib/layers/layer_norm",
        "`tf.contrib.layers.layer_norm`: by default over all axes but the first, with a γ and a β for each channel",
    ),
    VariantUse(
        "layer", "Huang et al. 2018, MUNIT: its code", "https://github.com/NVlabs/MUNIT/blob/master/networks.py",
        "`LayerNorm` over C, H, W with a γ and a β for each channel; it divides by the sample deviation + ε",
    ),
    VariantUse(
        "layer-channels", "Keras", "https://keras.io/api/layers/normalization_layers/layer_normalization",
        "`LayerNormalization()`: its default is `axis=-1`, the channels alone",
    ),
    VariantUse(
        "layer-channels", "PyTorch's documentation, text example", f"{TORCH_DOCS}.LayerNorm.html",
        "`nn.LayerNorm(C)` on (B, T, C): the last axis alone",
    ),
    VariantUse(
        "layer-channels", "Vaswani et al. 2017, Attention Is All You Need: its code",
        "https://github.com/tensorflow/tensor2tensor/blob/master/tensor2tensor/layers/common_layers.py",
        "`layer_norm` averages over the last axis: each token by itself",
    ),
    VariantUse(
        "layer-channels", "Liu et al. 2022, ConvNeXt: its code",
        "https://github.com/facebookresearch/ConvNeXt/blob/main/models/convnext.py",
        "`LayerNorm` over the channels of each position, for both orders of the axes",
    ),
    VariantUse(
        "layer-spatial", "Mao 2019, Layer Normalization Explained (a blog)",
        "https://leimao.github.io/blog/Layer-Normalization/",
        "“layer norm for convolutions”, each channel over its H, W; the blog itself says that it equals instance norm",
    ),
    VariantUse(
        "layer-spatial", "Ulyanov et al. 2016, by its usual name", str(SCHEMES["instance"].reference.url),
        "instance norm: `nn.InstanceNorm2d(C, affine=True)`",
    ),
)  # fmt: skip
"""Papers, frameworks and blogs, in the order of the variants."""

SHAPES: dict[str, tuple[Shape, Shape]] = {"dense": ((8, 1, 1, 6), (1, 1, 5, 6)), "conv": ((8, 4, 4, 6), (3, 3, 5, 6))}
"""Shapes of pre-activations (N, H, W, C) and weights (kh, kw, Cin, Cout) by layer, for the invariances."""


def is_variant_invariant(scheme: Scheme, change: str, layer: str) -> bool | None:
    """Return True if a variant is invariant to a transformation at ε = 0; None if its x̂ is 0/0."""
    shape, weights = SHAPES[layer]
    if explain_degeneracy(scheme, shape, 0.0):
        return None
    return predict(scheme, TRANSFORMATIONS[change], layer, shape, weights).invariant


def tabulate_invariance() -> dict[str, list[str]]:
    """Return a table, as lists by column name, of the variants' invariances on dense and convolutional layers."""
    signs = {True: "=\u00a0same", False: "≠\u00a0different", None: "0/0"}
    columns = {"Change": [f"{row.name}: {row.plain}" for row in TRANSFORMATIONS.values()]}
    for key in VARIANTS:
        for layer in SHAPES:
            verdicts = (is_variant_invariant(SCHEMES[key], change, layer) for change in TRANSFORMATIONS)
            columns[f"{SCHEMES[key].label}, {layer}"] = [signs[verdict] for verdict in verdicts]
    return columns
