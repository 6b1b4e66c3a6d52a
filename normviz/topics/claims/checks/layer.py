"""Claims about layer norm and its three variants."""

from collections.abc import Iterator

import numpy as np

from normviz.core.equality import compute_xhat
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.data.samples import sample_normal
from normviz.describe.parameters import find_keras_axis
from normviz.topics.claims.checks.tensors import (
    CONV_SHAPE,
    DENSE_SHAPE,
    LAYER_NORM_VARIANTS,
    compute_residual,
    measure_change_shares,
    measure_identity_gap,
    measure_scheme_gap,
    measure_torch_gap,
)
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal
from normviz.topics.running.averages import CONVENTIONS, compute_running_averages
from normviz.topics.running.modes import compute_batch_at
from normviz.topics.running.stream import BATCHES, Setting, compute_stream_pre_activations, trace_stream

CLAIMS = ClaimList()

LAYER, CHANNELS, BATCH = SCHEMES["layer"], SCHEMES["layer-channels"], SCHEMES["batch"]

OBSERVED_BATCH = BATCHES // 2
"""Position of the mini-batch of a stream of digits that is compared."""


@CLAIMS.add("L01", "000 004", "holds", "/?scheme=layer",
    says="In layer norm, all units share one mean and one deviation; each example has its own.",
    condition="Changing one unit changes all units of its example alone. On a convolution, too.")  # fmt: skip
def check_shared_statistics(seed: int) -> Iterator[Trial]:
    """Yield trials that measure which x̂ change with one unit of one example, in a dense layer and in a convolution."""
    own_share = "share of an example's x̂ that changes with one of its units"
    for name, shape in {"dense": DENSE_SHAPE, "conv": CONV_SHAPE}.items():
        own, others = measure_change_shares(LAYER, shape, seed)
        yield expect_at_least(f"{own_share}, {name} layer", own, 1)
        yield expect_at_most(f"share of the other examples' x̂ that changes with it, {name} layer", others, 0)
    for key in ("layer-channels", "layer-spatial"):
        own, _ = measure_change_shares(SCHEMES[key], CONV_SHAPE, seed)
        what = f"{own_share}, conv layer, with statistics over {LAYER_NORM_VARIANTS[key]} alone"
        yield expect_at_most(what, own, 0.5, fact=True)


def measure_mini_batch_effect(key: str, seed: int) -> float:
    """Return the largest change of x̂ if a digit is normalized alone, not in its mini-batch, behind a convolution."""
    x = compute_stream_pre_activations(Setting("conv", seed=seed), [OBSERVED_BATCH - 1])[0]
    alone = [compute_xhat(x[n : n + 1], SCHEMES[key], DEFAULT_EPS) for n in range(len(x))]
    return compute_residual(compute_xhat(x, SCHEMES[key], DEFAULT_EPS), np.concatenate(alone))


def measure_inference_gap(seed: int) -> float:
    """Return the largest difference of batch norm's x̂ in training from x̂ in inference, with PyTorch's averages."""
    setting, kept = Setting("conv", seed=seed), CONVENTIONS["pytorch"]
    seen = trace_stream(setting)
    averages = compute_running_averages(seen.mean, seen.variance, setting.element_count, kept, kept.momentum)
    output = compute_batch_at(setting, seen, averages, OBSERVED_BATCH, DEFAULT_EPS).output
    return compute_residual(output["training"], output["inference"])


@CLAIMS.add("L03", "004 001", "holds", "/compare?schemes=layer,layer-channels,layer-spatial,batch",
    says="Layer norm computes the same in training and at test time.",
    condition="No variant uses other examples, so none stores averages. Batch norm computes "
    "something else, and keeps a mean and a variance for it.")  # fmt: skip
def check_same_in_inference(seed: int) -> Iterator[Trial]:
    """Yield trials that compare x̂ of digits in a mini-batch and alone, for variants of layer norm and batch norm."""
    for key, axes in LAYER_NORM_VARIANTS.items():
        effect = measure_mini_batch_effect(key, seed)
        yield expect_equal(f"largest difference between x̂ of digits together and alone, over {axes}", effect)
    kept = [len(SCHEMES[key].keeps) for key in LAYER_NORM_VARIANTS]
    yield expect_at_most("arrays that layer norm keeps beside γ and β, over all three variants", kept, 0)
    gap = measure_inference_gap(seed)
    yield expect_at_least("largest difference of batch norm's x̂ in training and inference", gap, 1e-3, fact=True)
    yield expect_at_least("arrays that batch norm keeps beside γ and β", len(BATCH.keeps), 2, fact=True)


@CLAIMS.add("L04", "003", "wrong", "/compare?schemes=layer,layer-spatial,instance",
    says="After a convolution, layer norm normalizes each channel of an example by itself.",
    condition="That is instance norm; layer norm averages over channels too.")  # fmt: skip
def check_spatial_layer_norm(seed: int) -> Iterator[Trial]:
    """Yield trials that compare layer norm over H and W with its two other variants, and with instance norm."""
    paper, channels, instance = (
        measure_scheme_gap("layer-spatial", key, CONV_SHAPE, seed) for key in ("layer", CHANNELS.key, "instance")
    )
    yield expect_equal("largest difference between x̂ over H, W and x̂ over H, W, C", paper)
    yield expect_equal("largest difference between x̂ over H, W and x̂ over C", channels)
    yield expect_equal("largest difference between x̂ over H, W and instance norm's x̂", instance, fact=True)


@CLAIMS.add("L05", "003", "holds", "/identities?row=over-positions-one-case&n=1",
    says="Layer norm over each channel's H and W is batch norm at a batch size of 1.",
    condition="With one example, both average one channel over H, W. Layer norm over C, or over H, W and C, mixes "
    "channels, which batch norm never does.")  # fmt: skip
def check_variants_at_batch_one(seed: int) -> Iterator[Trial]:
    """Yield trials that compare three variants of layer norm with batch norm at N = 1."""
    gaps = {key: measure_scheme_gap(key, "batch", (1, *CONV_SHAPE[1:]), seed) for key in LAYER_NORM_VARIANTS}
    yield expect_equal("largest difference from batch norm's x̂ at N = 1: over H, W", gaps["layer-spatial"])
    what = "largest difference from batch norm's x̂ at N = 1: over H, W, C"
    yield expect_at_least(what, gaps["layer"], 0.1, fact=True)
    what = "largest difference from batch norm's x̂ at N = 1: over C"
    yield expect_at_least(what, gaps["layer-channels"], 0.1, fact=True)


@CLAIMS.add("L06", "002", "wrong", "/identities?row=layer-is-over-the-batch",
    says="Layer norm takes its mean and variance across a batch, not across channels.",
    condition="It is the other way round. The mean and variance are taken across channels, an example by itself, "
    "as the source's own code has it.")  # fmt: skip
def check_layer_norm_axes(seed: int) -> Iterator[Trial]:
    """Yield trials that compare variants of layer norm with batch norm, and measure the effect of other examples."""
    for key, axes in LAYER_NORM_VARIANTS.items():
        gap = measure_scheme_gap(key, "batch", CONV_SHAPE, seed)
        yield expect_equal(f"largest difference between batch norm's x̂ and x̂ over {axes}", gap)
    others = [measure_change_shares(SCHEMES[key], CONV_SHAPE, seed)[1] for key in LAYER_NORM_VARIANTS]
    what = "share of the other examples' x̂ that changes with one unit, over all three variants and all seeds"
    yield expect_at_most(what, others, 0, fact=True)
    x = sample_normal(TOKEN_SHAPE, seed)
    gap = compute_residual(BLOG_LAYER_NORM(x), compute_xhat(x, CHANNELS, BLOG_LAYER_NORM.epsilon))
    what = "largest difference between the source's own code and x̂ over C"
    yield expect_at_most(what, gap, 1e-3, fact=True)  # its axes, wherever its ε is


class BlogLayerNorm:
    """The source's class `LayerNormCustom`, line by line, with NumPy arrays in place of PyTorch tensors."""

    def __init__(self, normalized_shape: tuple[int, ...], elementwise_affine: bool = True) -> None:
        self.epsilon = 1e-8
        self.elementwise_affine = elementwise_affine
        self.dims = tuple(range(-len(normalized_shape), 0))
        self.weight, self.bias = np.ones(normalized_shape), np.zeros(normalized_shape)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """Return the source's `forward` of x."""
        mean = x.mean(self.dims, keepdims=True)
        var = x.var(self.dims, keepdims=True)
        z_norm = (x - mean) / np.sqrt(var + self.epsilon)
        return self.weight * z_norm + self.bias if self.elementwise_affine else z_norm


TOKEN_SHAPE: Shape = (2, 3, 1, 4)
"""The source's own example, (B, T, C) = (2, 3, 4), as (N, H, W, C) with W = 1."""

BLOG_LAYER_NORM = BlogLayerNorm(TOKEN_SHAPE[3:])


@CLAIMS.add("L07", "002", "holds-if", "/?n=2&h=3&w=1&c=4&data=normal&scheme=layer-channels&eps=1e-05&tab=response",
    says="A module of a few lines gives the same output as torch.nn.LayerNorm.",
    condition="With the same ε they are the same. Its 10⁻⁸ beside PyTorch's 10⁻⁵ hardly shows on normal noise, and "
    "decides where a row hardly varies. With elementwise_affine=False it still has a weight and a bias.")  # fmt: skip
def check_blog_layer_norm(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the blog's code with PyTorch's layer: at equal ε, at default ε, and on tiny numbers."""
    from normviz.train.layer_timing import normalize_with_torch  # here: torch takes seconds, and pages list the checks

    x = sample_normal(TOKEN_SHAPE, seed)
    same, default, little = (
        compute_residual(BLOG_LAYER_NORM(scale * x), normalize_with_torch(scale * x, CHANNELS, eps))
        for eps, scale in ((1e-8, 1), (1e-5, 1), (1e-5, 1e-3))
    )
    largest = "largest difference between x̂ of the source's code and of PyTorch's layer"
    yield expect_equal(f"{largest}, both with ε = 10⁻⁸", same)
    other = f"{largest}, with ε = 10⁻⁸ in the code and 10⁻⁵ in PyTorch"
    yield expect_equal(other, default)
    yield expect_at_least(f"{other}, where rows vary by 10⁻³", little, 0.1, fact=True)
    idle = BlogLayerNorm(TOKEN_SHAPE[3:], elementwise_affine=False)
    size = idle.weight.size + idle.bias.size
    yield expect_at_least("weights and biases in the source's code if not wanted", size, 1, fact=True)
    what = "largest difference between x̂ of PyTorch's layer and of layer norm here, both with ε = 10⁻⁵"
    yield expect_equal(what, measure_torch_gap(CHANNELS, TOKEN_SHAPE, DEFAULT_EPS, seed), fact=True)


@CLAIMS.add("L08", "001", "holds", "/?n=3&h=5&w=7&c=11&scheme=layer-channels&tab=parameters",
    says="In Keras, batch norm and layer norm both have the last axis by default.",
    condition="But batch norm keeps it and layer norm averages it. And layer norm's formula beside it averages "
    "over H and W too, which the default does not.")  # fmt: skip
def check_keras_axes(seed: int) -> Iterator[Trial]:
    """Yield trials that count the means of Keras's batch norm and layer norm with their default axis."""
    shape = (3, 5, 7, 11)
    n, h, w, c = shape
    on = f", on N, H, W, C = {str(shape)[1:-1]}"
    for axis in map(find_keras_axis, (BATCH, CHANNELS)):
        if axis is not None:
            yield Trial(f"{axis.layer} has {axis.argument}, which is C", axis.names == {"C"})
    for what, scheme, count in (
        (f"means of batch norm{on}, one for each channel", BATCH, c),
        (f"means of layer norm over C{on}, one for each position of each example", CHANNELS, n * h * w),
        (f"means in the source's formula of layer norm{on}, one for each example", LAYER, n),
    ):
        mean = normalize(sample_normal(shape, seed), scheme).mean
        found = 0 if mean is None else mean.size
        yield Trial(what, found == count, (found,), fact=True)
    what = "largest difference between layer norm's x̂ over C and by the source's formula"
    yield expect_at_least(what, measure_identity_gap("layer-is-its-default", shape, seed), 0.1, fact=True)
