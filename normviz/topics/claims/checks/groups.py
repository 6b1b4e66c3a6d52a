"""Instance and group norm."""

from functools import partial

import numpy as np

from normviz.core.equality import compute_xhat, find_largest_difference
from normviz.core.fields import Shape
from normviz.core.reductions import broadcast_statistic, centre, compute_rms
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme, get_scheme
from normviz.core.theory import find_invariances
from normviz.data.samples import sample_normal, sample_uneven
from normviz.describe.parameters import list_parameter_shapes
from normviz.topics.claims.checks.tensors import CONV, between, from_torch, of_identity
from normviz.topics.claims.claim import Claim, Evidence, Trial, apart, below, over, same

LAYER, INSTANCE = SCHEMES["layer"], SCHEMES["instance"]

TWELVE: Shape = (3, 5, 7, 12)
"""The tensor of the source's own code for group norm, (N, H, W, C)."""

GROUPS = 4
"""What that code asks for: `GroupNormalization(groups=4)`."""


def around(x: np.ndarray, scheme: Scheme) -> np.ndarray:
    """Instance norm's x̂ at ε = 0 where the variance is that around another scheme's mean."""
    field = INSTANCE.fields[-1]
    deviation = compute_rms(centre(x, scheme.fields[0])[0], field)
    return centre(x, INSTANCE.fields[0])[0] / broadcast_statistic(deviation, field, x.shape)


def index_of_the_mean(seed: int) -> Evidence:
    """Measure x̂ with the source's variance, around the example's mean μ(n), and around the channel's mean μ(n, c)."""
    from normviz.train.layer_timing import (
        normalize_with_torch,  # imported here: torch takes seconds, and pages list these checks
    )

    def gap(scheme: Scheme, each: int) -> float:
        x = sample_uneven(CONV, each)
        return find_largest_difference(around(x, scheme), normalize_with_torch(x, INSTANCE, 0.0)).residual

    variance = over(seed, lambda each: around(sample_uneven(CONV, each), LAYER).var((1, 2)).min())
    return Evidence(
        [
            same("largest difference of x̂ with μ(n) from PyTorch's instance norm", over(seed, partial(gap, LAYER))),
            same(
                "largest difference of x̂ with μ(n, c) from PyTorch's instance norm",
                over(seed, partial(gap, INSTANCE)),
                fact=True,
            ),
            below("least variance of a channel's x̂ with μ(n), where it should be 1", variance, 0.9, fact=True),
        ]
    )


def batch_of_one(seed: int) -> Evidence:
    """Instance norm beside batch norm, with one example and with several."""
    one, several = (of_identity("one-case", (n, *CONV[1:]), seed) for n in (1, CONV[0]))
    return Evidence(
        [
            same("largest difference between instance norm's and batch norm's x̂ at N = 1", one),
            apart(
                f"largest difference between instance norm's and batch norm's x̂ at N = {CONV[0]}",
                several,
                0.1,
                fact=True,
            ),
        ]
    )


def one_channel(seed: int) -> Evidence:
    """Layer norm beside instance norm, with one channel and with several."""
    one, several = (of_identity("one-channel", (*CONV[:-1], c), seed) for c in (1, CONV[-1]))
    return Evidence(
        [
            same("largest difference between layer norm's and instance norm's x̂ at C = 1", one),
            apart(
                f"largest difference between layer norm's and instance norm's x̂ at C = {CONV[-1]}",
                several,
                0.1,
                fact=True,
            ),
        ]
    )


def one_group(seed: int) -> Evidence:
    """Group norm with one group beside layer norm: x̂, and the shapes of γ in PyTorch."""
    group, layer = (list_parameter_shapes(scheme, CONV)[0].torch for scheme in (SCHEMES["group"], LAYER))
    return Evidence(
        [
            same(
                "largest difference between layer norm's x̂ and group norm's with one group",
                of_identity("one-group", CONV, seed),
            ),
            Trial(f"in PyTorch, γ is {group} in group norm and {layer} in layer norm", group != layer, fact=True),
        ]
    )


def as_many_groups_as_channels(seed: int) -> Evidence:
    """Group norm beside instance norm, with a group for each channel and with two groups."""
    return Evidence(
        [
            same(
                f"largest difference between instance norm's x̂ and group norm's with {CONV[-1]} groups",
                of_identity("all-groups", CONV, seed),
            ),
            apart(
                "largest difference between instance norm's x̂ and group norm's with 2 groups",
                between("group", "instance", CONV, seed),
                0.1,
                fact=True,
            ),
        ]
    )


def by_size(x: np.ndarray, size: int) -> np.ndarray:
    """The source's formula at ε = 0, in which G is the size: statistics over G channels after one another."""
    parts = x.reshape(*x.shape[:3], -1, size)
    mean, variance = (take((1, 2, 4), keepdims=True) for take in (parts.mean, parts.var))
    return ((parts - mean) / np.sqrt(variance)).reshape(x.shape)


def size_or_count(seed: int) -> Evidence:
    """The source's formula with its G = 4, beside group norm with three groups, of that size, and with that many."""

    def gap(groups: int, each: int) -> float:
        x = sample_uneven(TWELVE, each)
        return find_largest_difference(
            by_size(x, GROUPS), compute_xhat(x, get_scheme("group", groups=groups), 0.0)
        ).residual

    count = TWELVE[-1] // GROUPS
    named = f"largest difference between x̂ of the source's formula with G = {GROUPS} and group norm's with"
    scheme = get_scheme("group", groups=GROUPS)
    return Evidence(
        [
            same(f"{named} {count} groups", over(seed, lambda each: gap(count, each))),
            same(f"{named} {GROUPS} groups, as the source's code has it", over(seed, lambda each: gap(GROUPS, each))),
            same(
                f"largest difference between x̂ of PyTorch's GroupNorm({GROUPS}) and group norm's with {GROUPS} groups",
                from_torch(scheme, TWELVE, 0.0, seed),
                fact=True,
            ),
        ]
    )


def shapes_in_keras(seed: int) -> Evidence:
    """γ and β of the three layers in Keras on one tensor, and of layer norm over H, W and C."""
    trials = []
    for name, key in {"batch norm": "batch", "layer norm": "layer-channels", "group norm": "group"}.items():
        gain, bias = (row.keras for row in list_parameter_shapes(SCHEMES[key], TWELVE)[:2])
        trials.append(Trial(f"{name} has γ {gain} and β {bias}", gain == bias == f"({TWELVE[-1]},)"))
    gain = list_parameter_shapes(LAYER, TWELVE)[0].keras
    return Evidence([*trials, Trial(f"over H, W and C layer norm has γ {gain}", gain == str(TWELVE[1:]), fact=True)])


def by_rule(scheme: Scheme) -> set[str]:
    """The columns of Table 1 that a scheme absorbs behind a convolution of 3 × 3 filters, by the rule."""
    return {*find_invariances(scheme, "conv", CONV, (3, 3, 3, CONV[-1]))}


def between_groups(one: Scheme, other: Scheme, seed: int) -> float:
    """The largest difference of two schemes' x̂."""
    x = sample_uneven(CONV, seed)
    return find_largest_difference(compute_xhat(x, one, DEFAULT_EPS), compute_xhat(x, other, DEFAULT_EPS)).residual


def after_scaling_a_group(scheme: Scheme, seed: int) -> float:
    """How far x̂ changes at ε = 0 where the first half of the channels is three times as large."""
    x = sample_uneven(CONV, seed)
    scaled = np.where(np.arange(CONV[-1]) < CONV[-1] // 2, 3 * x, x)
    return find_largest_difference(compute_xhat(x, scheme, 0.0), compute_xhat(scaled, scheme, 0.0)).residual


def noise_of_means(scheme: Scheme, seed: int) -> float:
    """The standard deviation of a scheme's means on standard normal numbers."""
    return float(np.std(centre(sample_normal((256, *CONV[1:]), seed), scheme.fields[0])[1]))


def worth_of_groups(seed: int) -> Evidence:
    """For it: a number more to choose, and nothing new in Table 1; against it: factors of a group, and less noise."""
    two, three = (get_scheme("group", groups=groups) for groups in (2, 3))
    choice = over(seed, partial(between_groups, two, three))
    scaled, of_layer = (over(seed, partial(after_scaling_a_group, one)) for one in (two, LAYER))
    noise = over(seed, lambda each: noise_of_means(two, each) / noise_of_means(INSTANCE, each))
    new = [len(by_rule(scheme) - by_rule(LAYER)) for scheme in (two, three)]
    return Evidence(
        [
            apart(
                "for it: largest difference between group norm's x̂ with 2 and with 3 groups, of 6 channels", choice, 0.1
            ),
            below(
                "changes in Table 1 that group norm, with 2 and with 3 groups, absorbs on a conv layer and layer norm "
                "does not",
                new,
                0,
            ),
            apart("against it: change of group norm's x̂ where one of two groups is scaled by 3, at ε = 0", scaled, 0.1),
            apart(
                "change of layer norm's x̂ where half of the channels are scaled by 3, at ε = 0",
                of_layer,
                0.1,
                fact=True,
            ),
            apart("standard error of group norm's means with 2 groups over that of instance norm's", noise, 0.9),
        ],
        opinion=True,
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "I01",
        ("001",),
        says="In instance norm, the variance is taken around the mean of the whole example.",
        how="x̂ with that variance, and with that around the channel's own mean μ(n, c), beside PyTorch's layer.",
        expected="wrong",
        check=index_of_the_mean,
        see="/?scheme=instance&tab=formula",
        condition="It is each channel's own mean, μ(n, c). The index c is missing; the line above has it. "
        "With one channel both are the same. The view shows the right formula alone.",
    ),
    Claim(
        "I02",
        ("001",),
        says="Instance norm is batch norm at a batch size of 1.",
        how="x̂ of both on noise whose mean and scale differ by channel.",
        expected="holds",
        check=batch_of_one,
        see="/identities?row=one-case&n=1",
        condition="Both then average each channel over its positions.",
    ),
    Claim(
        "I03",
        ("001", "003"),
        says="With one channel, layer norm is instance norm.",
        how="x̂ of both on noise whose mean and scale differ by example.",
        expected="holds",
        check=one_channel,
        see="/identities?row=one-channel&c=1",
        condition="Both then average the one channel of each example.",
    ),
    Claim(
        "G01",
        ("001",),
        says="Group norm with one group is almost identical to layer norm.",
        how="x̂ of both, and the shapes of what is learned.",
        expected="holds",
        check=one_group,
        see="/identities?row=one-group",
        condition="x̂ is the same; only what is learned differs. PyTorch's GroupNorm learns by channel, LayerNorm by "
        "element.",
    ),
    Claim(
        "G02",
        ("001",),
        says="Group norm with as many groups as channels is instance norm.",
        how="x̂ of both on noise whose mean and scale differ by channel.",
        expected="holds",
        check=as_many_groups_as_channels,
        see="/identities?row=all-groups",
        condition="Each group is then one channel of one example.",
    ),
    Claim(
        "G03",
        ("001",),
        says="In group norm, G is the size of a group.",
        how="The source's formula, written out, beside group norm with C/G and with G groups, and PyTorch's layer.",
        expected="holds-if",
        check=size_or_count,
        see="/identities?row=groups-are-sizes&c=12",
        condition="In the source's formula, yes; in code it counts groups. The argument groups=4 of its code is a "
        "count, as its comment says (12/4 = 3 channels), and so is num_groups in PyTorch.",
    ),
    Claim(
        "G04",
        ("001",),
        says="In Keras, γ and β of layer, group and batch norm are of shape (C,).",
        how="The shapes that this app states for Keras's layers on a tensor of N, H, W, C = 3, 5, 7, 12, that of the "
        "source's group norm; its tests compare them with Keras's layers.",
        expected="holds",
        check=shapes_in_keras,
        see="/?n=3&h=5&w=7&c=12&scheme=group&groups=4&tab=parameters",
        condition="Each of the three learns one number per channel. Layer norm does with its default axis; over H, W "
        "and C it learns a number for each element.",
    ),
    Claim(
        "G05",
        ("000",),
        says="It is questionable what group norm is worth, as its groups have to be chosen.",
        how="x̂ by the number of groups; what is absorbed, in Table 1 and beyond; the noise of the means.",
        expected="opinion",
        check=worth_of_groups,
        see="/compare?schemes=layer,group,instance",
        condition="No number decides; the groups change what cancels.",
    ),
)
"""Its claims."""
