"""Layer norm: its readings, and what is said of them."""

from functools import partial

import numpy as np

from normviz.core.equality import compute_xhat, find_largest_difference
from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.data.samples import sample_normal
from normviz.describe.parameters import find_keras_axis
from normviz.topics.claims.checks.tensors import CONV, DENSE, READINGS, between, from_torch, moved_over, of_identity
from normviz.topics.claims.claim import Claim, Evidence, Trial, apart, below, over, same
from normviz.topics.running.averages import CONVENTIONS, compute_running_averages
from normviz.topics.running.modes import compute_batch_at
from normviz.topics.running.stream import BATCHES, Setting, stream_summed_inputs, trace_stream

LAYER, CHANNELS, BATCH = SCHEMES["layer"], SCHEMES["layer-channels"], SCHEMES["batch"]

MIDDLE = BATCHES // 2
"""The mini-batch of a stream of digits that is looked at."""


def one_for_all_units(seed: int) -> Evidence:
    """Which x̂ change with one unit of one example, behind a dense layer and behind a convolution."""
    trials = []
    for name, shape in {"dense": DENSE, "conv": CONV}.items():
        own, others = moved_over("layer", shape, seed)
        trials.append(apart(f"share of an example's x̂ that changes with one of its units, {name} layer", own, 1))
        trials.append(below(f"share of the other examples' x̂ that changes with it, {name} layer", others, 0))
    for key in ("layer-channels", "layer-spatial"):
        own, _ = moved_over(key, CONV, seed)
        what = (
            "share of an example's x̂ that changes with one of its units, conv layer, with statistics over "
            f"{READINGS[key]} alone"
        )
        trials.append(below(what, own, 0.5, fact=True))
    return Evidence(trials)


def among_others_and_alone(key: str, seed: int) -> float:
    """The largest difference between x̂ of digits in a mini-batch and of each by itself, behind a convolution."""
    x = stream_summed_inputs(Setting("conv", seed=seed), [MIDDLE - 1])[0]
    alone = [compute_xhat(x[n : n + 1], SCHEMES[key], DEFAULT_EPS) for n in range(len(x))]
    return find_largest_difference(compute_xhat(x, SCHEMES[key], DEFAULT_EPS), np.concatenate(alone)).residual


def training_and_inference(seed: int) -> float:
    """The largest difference between batch norm's x̂ in training and in inference, with PyTorch's running averages."""
    setting, kept = Setting("conv", seed=seed), CONVENTIONS["pytorch"]
    seen = trace_stream(setting)
    averages = compute_running_averages(seen.mean, seen.variance, setting.count, kept, kept.momentum)
    output = compute_batch_at(setting, seen, averages, MIDDLE, DEFAULT_EPS).output
    return find_largest_difference(output["training"], output["inference"]).residual


def same_in_inference(seed: int) -> Evidence:
    """Digits in a mini-batch and each alone, for all three readings; and batch norm in its two modes."""
    trials = [
        same(
            f"largest difference between x̂ of digits together and alone, over {axes}",
            over(seed, partial(among_others_and_alone, key)),
        )
        for key, axes in READINGS.items()
    ]
    kept = [len(SCHEMES[key].keeps) for key in READINGS]
    trials.append(below("arrays that layer norm keeps beside γ and β, over all three readings", kept, 0))
    modes = over(seed, training_and_inference)
    trials.append(apart("largest difference of batch norm's x̂ in training and inference", modes, 1e-3, fact=True))
    trials.append(apart("arrays that batch norm keeps beside γ and β", [len(BATCH.keeps)], 2, fact=True))
    return Evidence(trials)


def spatial_is_instance(seed: int) -> Evidence:
    """The reading over each channel's H and W beside the other two, and beside instance norm."""
    paper, channels, instance = (
        between("layer-spatial", key, CONV, seed) for key in ("layer", CHANNELS.key, "instance")
    )
    return Evidence(
        [
            same("largest difference between x̂ over H, W and x̂ over H, W, C", paper),
            same("largest difference between x̂ over H, W and x̂ over C", channels),
            same("largest difference between x̂ over H, W and instance norm's x̂", instance, fact=True),
        ]
    )


def is_batch_of_one(seed: int) -> Evidence:
    """All three readings beside batch norm at N = 1."""
    gaps = {key: between(key, "batch", (1, *CONV[1:]), seed) for key in READINGS}
    return Evidence(
        [
            same("largest difference from batch norm's x̂ at N = 1: over H, W", gaps["layer-spatial"]),
            apart("largest difference from batch norm's x̂ at N = 1: over H, W, C", gaps["layer"], 0.1, fact=True),
            apart("largest difference from batch norm's x̂ at N = 1: over C", gaps["layer-channels"], 0.1, fact=True),
        ]
    )


def over_the_batch(seed: int) -> Evidence:
    """All three readings beside batch norm; whether other examples matter in them; and what the source's code is."""
    trials = [
        same(f"largest difference between batch norm's x̂ and x̂ over {axes}", between(key, "batch", CONV, seed))
        for key, axes in READINGS.items()
    ]
    others = [share for key in READINGS for share in moved_over(key, CONV, seed)[1]]
    what = "share of the other examples' x̂ that changes with one unit, over all three readings and all seeds"
    trials.append(below(what, others, 0, fact=True))
    what = "largest difference between the source's own code and x̂ over C"
    return Evidence([*trials, below(what, module_from_ours(seed), 1e-3, fact=True)])  # its axes, wherever its ε is


class Module:
    """The source's `LayerNormCustom`, line by line, with NumPy's arrays in place of torch's."""

    def __init__(self, normalized_shape: tuple[int, ...], elementwise_affine: bool = True) -> None:
        self.epsilon = 1e-8
        self.elementwise_affine = elementwise_affine
        self.dims = tuple(range(-len(normalized_shape), 0))
        self.weight, self.bias = np.ones(normalized_shape), np.zeros(normalized_shape)

    def __call__(self, x: np.ndarray) -> np.ndarray:
        """The source's `forward`."""
        mean = x.mean(self.dims, keepdims=True)
        var = x.var(self.dims, keepdims=True)
        z_norm = (x - mean) / np.sqrt(var + self.epsilon)
        return self.weight * z_norm + self.bias if self.elementwise_affine else z_norm


TOKENS: Shape = (2, 3, 1, 4)
"""The source's own example, (B, T, C) = (2, 3, 4), as (N, H, W, C) with W = 1."""

MODULE = Module(TOKENS[3:])


def module_from_ours(seed: int) -> tuple[float, ...]:
    """The largest difference between the source's code and layer norm over channels at its ε, over seeds."""
    return over(
        seed, lambda each: _from_module(compute_xhat(sample_normal(TOKENS, each), CHANNELS, MODULE.epsilon), each)
    )


def module_from_torch(eps: float, scale: float, seed: int) -> tuple[float, ...]:
    """The same for PyTorch's layer with this ε, on normal numbers of this standard deviation."""
    from normviz.train.layer_timing import (
        normalize_with_torch,  # imported here: torch takes seconds, and pages list these checks
    )

    return over(
        seed,
        lambda each: _from_module(
            normalize_with_torch(scale * sample_normal(TOKENS, each), CHANNELS, eps), each, scale
        ),
    )


def _from_module(xhat: np.ndarray, seed: int, scale: float = 1.0) -> float:
    return find_largest_difference(MODULE(scale * sample_normal(TOKENS, seed)), xhat).residual


def module_beside_torch(seed: int) -> Evidence:
    """The source's code beside PyTorch's layer: with one ε, with those that they have, and where rows hardly vary."""
    idle = Module(TOKENS[3:], elementwise_affine=False)
    ours = from_torch(CHANNELS, TOKENS, DEFAULT_EPS, seed)
    largest = "largest difference between x̂ of the source's code and of PyTorch's layer"
    return Evidence(
        [
            same(f"{largest}, both with ε = 10⁻⁸", module_from_torch(1e-8, 1, seed)),
            same(f"{largest}, with ε = 10⁻⁸ in the code and 10⁻⁵ in PyTorch", module_from_torch(1e-5, 1, seed)),
            apart(
                f"{largest}, with ε = 10⁻⁸ in the code and 10⁻⁵ in PyTorch, where rows vary by 10⁻³",
                module_from_torch(1e-5, 1e-3, seed),
                0.1,
                fact=True,
            ),
            apart(
                "weights and biases in the source's code if not wanted",
                [idle.weight.size + idle.bias.size],
                1,
                fact=True,
            ),
            same(
                "largest difference between x̂ of PyTorch's layer and of layer norm here, both with ε = 10⁻⁵",
                ours,
                fact=True,
            ),
        ]
    )


def axis_of_both(seed: int) -> Evidence:
    """The axis that Keras's two layers name, and how many means each then has, on the source's (3, 5, 7, 11)."""
    shape = (3, 5, 7, 11)
    n, h, w, c = shape
    on = f", on N, H, W, C = {str(shape)[1:-1]}"
    axes = {scheme.key: find_keras_axis(scheme) for scheme in (BATCH, CHANNELS)}
    trials = [
        Trial(f"{axis.layer} has {axis.argument}, which is C", axis.names == {"C"})
        for axis in axes.values()
        if axis is not None
    ]
    for what, scheme, count in (
        (f"means of batch norm{on}, one for each channel", BATCH, c),
        (f"means of layer norm over C{on}, one for each position of each example", CHANNELS, n * h * w),
        (f"means in the source's formula of layer norm{on}, one for each example", LAYER, n),
    ):
        mean = normalize(sample_normal(shape, seed), scheme).mean
        found = 0 if mean is None else mean.size
        trials.append(Trial(what, found == count, (found,), fact=True))
    gap = of_identity("layer-is-its-default", shape, seed)
    return Evidence(
        [
            *trials,
            apart("largest difference between layer norm's x̂ over C and by the source's formula", gap, 0.1, fact=True),
        ]
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "L01",
        ("000", "004"),
        says="In layer norm, all units share one mean and one deviation; each example has its own.",
        how="One unit of one example is changed; which x̂ change, on noise whose mean and scale differ by example.",
        expected="holds",
        check=one_for_all_units,
        see="/?scheme=layer",
        condition="Changing one unit changes all units of its example alone. On a convolution, too.",
    ),
    Claim(
        "L03",
        ("004", "001"),
        says="Layer norm computes the same in training and at test time.",
        how="x̂ of digits in a mini-batch, and of each alone, for all three readings of layer norm; batch norm's with "
        "the statistics of the mini-batch, and with running averages.",
        expected="holds",
        check=same_in_inference,
        see="/compare?schemes=layer,layer-channels,layer-spatial,batch",
        condition="It never uses other examples, so it stores no averages. In all three readings; batch norm computes "
        "something else, and keeps a mean and a variance for it.",
    ),
    Claim(
        "L04",
        ("003",),
        says="After a convolution, layer norm normalizes each channel of an example by itself.",
        how="x̂ of all three readings on random tensors, and of instance norm.",
        expected="wrong",
        check=spatial_is_instance,
        see="/compare?schemes=layer,layer-spatial,instance",
        condition="That is instance norm; layer norm averages over channels too.",
    ),
    Claim(
        "L05",
        ("003",),
        says="Layer norm over each channel's H and W is batch norm at a batch size of 1.",
        how="x̂ of all three readings and of batch norm on random tensors of one example.",
        expected="holds",
        check=is_batch_of_one,
        see="/identities?row=over-positions-one-case&n=1",
        condition="With one example, both average one channel over H, W. Layer norm over C, or over H, W and C, mixes "
        "channels, which batch norm never does.",
    ),
    Claim(
        "L06",
        ("002",),
        says="Layer norm takes its mean and variance across a batch, not across channels.",
        how="All three readings beside batch norm; which x̂ change with one unit; what the source's code computes.",
        expected="wrong",
        check=over_the_batch,
        see="/identities?row=layer-is-over-the-batch",
        condition="It is the other way round. The mean and variance are taken across channels, an example by itself, "
        "as the source's own code has it.",
    ),
    Claim(
        "L07",
        ("002",),
        says="A module of a few lines gives the same output as torch.nn.LayerNorm.",
        how="The module's lines on the source's example, and on one that varies by 10⁻³, beside PyTorch's own layer.",
        expected="holds-if",
        check=module_beside_torch,
        see="/?n=2&h=3&w=1&c=4&data=normal&scheme=layer-channels&eps=1e-05&tab=response",
        condition="With the same ε they are the same. Its 10⁻⁸ beside PyTorch's 10⁻⁵ hardly shows on normal noise, and "
        "decides where a row hardly varies. And with elementwise_affine=False it still has a weight and a bias.",
    ),
    Claim(
        "L08",
        ("001",),
        says="In Keras, batch norm and layer norm both have the last axis by default.",
        how="The axis that this app states for each of Keras's two layers, which its tests compare with the layer's "
        "own, and the number of means that each then has.",
        expected="holds",
        check=axis_of_both,
        see="/?n=3&h=5&w=7&c=11&scheme=layer-channels&tab=parameters",
        condition="But batch norm keeps it and layer norm averages it. And layer norm's formula beside it averages "
        "over H and W too, which the default does not.",
    ),
)
"""Its claims."""
