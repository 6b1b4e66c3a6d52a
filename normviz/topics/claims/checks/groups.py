"""Claims about instance norm and group norm."""

from collections.abc import Iterator

import numpy as np

from normviz.core.equality import compute_xhat
from normviz.core.fields import Shape
from normviz.core.reductions import broadcast_statistic, centre, compute_rms
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme, get_scheme
from normviz.core.theory import find_invariances
from normviz.data.samples import sample_normal, sample_uneven
from normviz.describe.parameters import list_parameter_shapes
from normviz.topics.claims.checks.tensors import (
    CONV_SHAPE,
    compute_residual,
    measure_identity_gap,
    measure_scheme_gap,
    measure_torch_gap,
)
from normviz.topics.claims.claim import ClaimList
from normviz.topics.claims.trials import Trial, expect_at_least, expect_at_most, expect_equal

CLAIMS = ClaimList()

LAYER, INSTANCE = SCHEMES["layer"], SCHEMES["instance"]

TWELVE_CHANNEL_SHAPE: Shape = (3, 5, 7, 12)
"""The tensor of the source's own code for group norm, (N, H, W, C)."""

SOURCE_GROUPS = 4
"""Number of groups in that code: `GroupNormalization(groups=4)`."""


def normalize_around_mean(x: np.ndarray, scheme: Scheme) -> np.ndarray:
    """Return instance norm's x̂ at ε = 0, with squares averaged around another scheme's mean."""
    field = INSTANCE.fields[-1]
    deviation = compute_rms(centre(x, scheme.fields[0])[0], field)
    return centre(x, INSTANCE.fields[0])[0] / broadcast_statistic(deviation, x.shape)


@CLAIMS.add("I01", "001", "wrong", "/?scheme=instance&tab=formula",
    says="In instance norm, the variance is taken around the mean of the whole example.",
    condition="It is each channel's own mean, μ(n, c). The index c is missing; the line above has it. "
    "With one channel both are the same. The view shows the right formula alone.")  # fmt: skip
def check_instance_norm_mean(seed: int) -> Iterator[Trial]:
    """Yield trials that compare x̂ with PyTorch's: squares averaged around an example's mean, or a channel's."""
    from normviz.train.layer_timing import normalize_with_torch  # here: torch takes seconds, and pages list the checks

    x = sample_uneven(CONV_SHAPE, seed)
    exact, around_example = normalize_with_torch(x, INSTANCE, 0.0), normalize_around_mean(x, LAYER)
    gap = compute_residual(around_example, exact)
    yield expect_equal("largest difference of x̂ with μ(n) from PyTorch's instance norm", gap)
    gap = compute_residual(normalize_around_mean(x, INSTANCE), exact)
    yield expect_equal("largest difference of x̂ with μ(n, c) from PyTorch's instance norm", gap, fact=True)
    variance = around_example.var((1, 2)).min()
    yield expect_at_most("least variance of a channel's x̂ with μ(n), where it should be 1", variance, 0.9, fact=True)


@CLAIMS.add("I02", "001", "holds", "/identities?row=one-case&n=1",
    says="Instance norm is batch norm at a batch size of 1.",
    condition="Both then average each channel over its positions.")  # fmt: skip
def check_batch_of_one(seed: int) -> Iterator[Trial]:
    """Yield trials that compare instance norm with batch norm, for one example and for several."""
    one, several = (measure_identity_gap("one-case", (n, *CONV_SHAPE[1:]), seed) for n in (1, CONV_SHAPE[0]))
    yield expect_equal("largest difference between instance norm's and batch norm's x̂ at N = 1", one)
    what = f"largest difference between instance norm's and batch norm's x̂ at N = {CONV_SHAPE[0]}"
    yield expect_at_least(what, several, 0.1, fact=True)


@CLAIMS.add("I03", "001 003", "holds", "/identities?row=one-channel&c=1",
    says="With one channel, layer norm is instance norm.",
    condition="Both then average the one channel of each example.")  # fmt: skip
def check_one_channel(seed: int) -> Iterator[Trial]:
    """Yield trials that compare layer norm with instance norm, for one channel and for several."""
    one, several = (measure_identity_gap("one-channel", (*CONV_SHAPE[:-1], c), seed) for c in (1, CONV_SHAPE[-1]))
    yield expect_equal("largest difference between layer norm's and instance norm's x̂ at C = 1", one)
    what = f"largest difference between layer norm's and instance norm's x̂ at C = {CONV_SHAPE[-1]}"
    yield expect_at_least(what, several, 0.1, fact=True)


@CLAIMS.add("G01", "001", "holds", "/identities?row=one-group",
    says="Group norm with one group is almost identical to layer norm.",
    condition="x̂ is the same; only what is learned differs. PyTorch's GroupNorm learns by channel, LayerNorm by "
    "element.")  # fmt: skip
def check_one_group(seed: int) -> Iterator[Trial]:
    """Yield trials that compare group norm of one group with layer norm: x̂, and the shapes of γ in PyTorch."""
    group, layer = (list_parameter_shapes(scheme, CONV_SHAPE)[0].torch for scheme in (SCHEMES["group"], LAYER))
    values = measure_identity_gap("one-group", CONV_SHAPE, seed)
    yield expect_equal("largest difference between layer norm's x̂ and group norm's with one group", values)
    yield Trial(f"in PyTorch, γ is {group} in group norm and {layer} in layer norm", group != layer, fact=True)


@CLAIMS.add("G02", "001", "holds", "/identities?row=all-groups",
    says="Group norm with as many groups as channels is instance norm.",
    condition="Each group is then one channel of one example.")  # fmt: skip
def check_group_per_channel(seed: int) -> Iterator[Trial]:
    """Yield trials that compare group norm with instance norm, for a group per channel and for two groups."""
    what = f"largest difference between instance norm's x̂ and group norm's with {CONV_SHAPE[-1]} groups"
    yield expect_equal(what, measure_identity_gap("all-groups", CONV_SHAPE, seed))
    what = "largest difference between instance norm's x̂ and group norm's with 2 groups"
    yield expect_at_least(what, measure_scheme_gap("group", "instance", CONV_SHAPE, seed), 0.1, fact=True)


def normalize_by_group_size(x: np.ndarray, size: int) -> np.ndarray:
    """Return x̂ by the source's formula at ε = 0, which reads G as the number of channels in a group, `size`."""
    parts = x.reshape(*x.shape[:3], -1, size)
    mean, variance = (take((1, 2, 4), keepdims=True) for take in (parts.mean, parts.var))
    return ((parts - mean) / np.sqrt(variance)).reshape(x.shape)


@CLAIMS.add("G03", "001", "holds-if", "/identities?row=groups-are-sizes&c=12",
    says="In group norm, G is the size of a group.",
    condition="In the source's formula, yes; in code it counts groups. The argument groups=4 of its code is a "
    "count, as its comment says (12/4 = 3 channels), and so is num_groups in PyTorch.")  # fmt: skip
def check_size_or_count(seed: int) -> Iterator[Trial]:
    """Yield trials that compare the source's formula at G = 4 with group norm of four groups, and of groups of four."""
    x, count = sample_uneven(TWELVE_CHANNEL_SHAPE, seed), TWELVE_CHANNEL_SHAPE[-1] // SOURCE_GROUPS
    of_size, of_count = (
        compute_residual(
            normalize_by_group_size(x, SOURCE_GROUPS), compute_xhat(x, get_scheme("group", groups=groups), 0.0)
        )
        for groups in (count, SOURCE_GROUPS)
    )
    named = f"largest difference between x̂ of the source's formula with G = {SOURCE_GROUPS} and group norm's with"
    yield expect_equal(f"{named} {count} groups", of_size)
    yield expect_equal(f"{named} {SOURCE_GROUPS} groups, as the source's code has it", of_count)
    what = (
        f"largest difference between x̂ of PyTorch's GroupNorm({SOURCE_GROUPS}) and group norm's with "
        f"{SOURCE_GROUPS} groups"
    )
    scheme = get_scheme("group", groups=SOURCE_GROUPS)
    yield expect_equal(what, measure_torch_gap(scheme, TWELVE_CHANNEL_SHAPE, 0.0, seed), fact=True)


@CLAIMS.add("G04", "001", "holds", "/?n=3&h=5&w=7&c=12&scheme=group&groups=4&tab=parameters",
    says="In Keras, γ and β of layer, group and batch norm are of shape (C,).",
    condition="Each of the three learns one number per channel. Layer norm does with its default axis; over H, W "
    "and C it learns a number for each element.")  # fmt: skip
def check_keras_shapes(seed: int) -> Iterator[Trial]:
    """Yield trials that compare shapes of γ and β in three Keras layers, and in layer norm over H, W and C."""
    for name, key in {"batch norm": "batch", "layer norm": "layer-channels", "group norm": "group"}.items():
        gain, bias = (row.keras for row in list_parameter_shapes(SCHEMES[key], TWELVE_CHANNEL_SHAPE)[:2])
        yield Trial(f"{name} has γ {gain} and β {bias}", gain == bias == f"({TWELVE_CHANNEL_SHAPE[-1]},)")
    gain = list_parameter_shapes(LAYER, TWELVE_CHANNEL_SHAPE)[0].keras
    yield Trial(f"over H, W and C layer norm has γ {gain}", gain == str(TWELVE_CHANNEL_SHAPE[1:]), fact=True)


def predict_conv_invariances(scheme: Scheme) -> set[str]:
    """Return the keys of the transformations of Table 1 to which a scheme on a convolution is invariant in theory."""
    return {*find_invariances(scheme, "conv", CONV_SHAPE, (3, 3, 3, CONV_SHAPE[-1]))}


def measure_xhat_gap(first: Scheme, second: Scheme, seed: int) -> float:
    """Return the largest difference of two schemes' x̂ on one random tensor."""
    x = sample_uneven(CONV_SHAPE, seed)
    return compute_residual(compute_xhat(x, first, DEFAULT_EPS), compute_xhat(x, second, DEFAULT_EPS))


def measure_group_scaling_gap(scheme: Scheme, seed: int) -> float:
    """Return the largest change of x̂ at ε = 0 if the first half of the channels is multiplied by 3."""
    x = sample_uneven(CONV_SHAPE, seed)
    scaled = np.where(np.arange(CONV_SHAPE[-1]) < CONV_SHAPE[-1] // 2, 3 * x, x)
    return compute_residual(compute_xhat(x, scheme, 0.0), compute_xhat(scaled, scheme, 0.0))


@CLAIMS.add("G05", "000", "opinion", "/compare?schemes=layer,group,instance",
    says="It is questionable what group norm is worth, as its groups have to be chosen.",
    condition="No number decides; the groups change what cancels.")  # fmt: skip
def check_worth_of_groups(seed: int) -> Iterator[Trial]:
    """Yield trials that measure what groups add: no invariance of Table 1, but one to factors per group."""
    two, three = (get_scheme("group", groups=groups) for groups in (2, 3))
    what = "for it: largest difference between group norm's x̂ with 2 and with 3 groups, of 6 channels"
    yield expect_at_least(what, measure_xhat_gap(two, three, seed), 0.1)
    new = [len(predict_conv_invariances(scheme) - predict_conv_invariances(LAYER)) for scheme in (two, three)]
    cancels = "cancels on a conv layer and layer norm does not"
    yield expect_at_most(f"changes in Table 1 that group norm, with 2 and with 3 groups, {cancels}", new, 0)
    what = "against it: change of group norm's x̂ where one of two groups is scaled by 3, at ε = 0"
    yield expect_at_least(what, measure_group_scaling_gap(two, seed), 0.1)
    what = "change of layer norm's x̂ where half of the channels are scaled by 3, at ε = 0"
    yield expect_at_least(what, measure_group_scaling_gap(LAYER, seed), 0.1, fact=True)
    x = sample_normal((256, *CONV_SHAPE[1:]), seed)
    of_groups, of_channels = (np.std(centre(x, scheme.fields[0])[1]) for scheme in (two, INSTANCE))
    what = "standard error of group norm's means with 2 groups over that of instance norm's"
    yield expect_at_least(what, of_groups / of_channels, 0.9)
