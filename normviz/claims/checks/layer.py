"""Layer norm: its readings, and what is said of them."""

from normviz.claims.claim import Claim, Evidence, apart, over, same
from normviz.core.equality import compare
from normviz.core.fields import Shape
from normviz.core.schemes import SCHEMES

CONV: Shape = (4, 3, 3, 6)
"""A batch behind a convolution, (N, H, W, C)."""


def between(key: str, other: str, shape: Shape, seed: int) -> tuple[float, ...]:
    """The largest difference of two schemes' x̂ on random tensors, over seeds."""
    return over(seed, lambda each: compare(SCHEMES[key], SCHEMES[other], shape, seed=each).worst.residual)


def spatial_is_instance(seed: int) -> Evidence:
    """The reading over each channel's H and W beside layer norm as its paper has it, and beside instance norm."""
    return Evidence(
        [
            same(
                "largest difference between x̂ over H, W and layer norm's", between("layer-spatial", "layer", CONV, seed)
            ),
            same("and instance norm's", between("layer-spatial", "instance", CONV, seed), fact=True),
        ]
    )


def is_batch_of_one(seed: int) -> Evidence:
    """The same reading beside batch norm at N = 1, where layer norm as its paper has it is something else."""
    shape = (1, *CONV[1:])
    return Evidence(
        [
            same(
                "largest difference from batch norm's x̂ at N = 1: over H, W",
                between("layer-spatial", "batch", shape, seed),
            ),
            apart("over H, W, C", between("layer", "batch", shape, seed), 0.1),
        ]
    )


CLAIMS: tuple[Claim, ...] = (
    Claim(
        "L04",
        ("003",),
        says="Behind a convolution, layer norm normalizes every channel of an example over H and W by itself.",
        how="x̂ of both readings on random tensors, and of instance norm.",
        expected="wrong",
        check=spatial_is_instance,
        see="/identities?row=over-positions",
        condition="The name is wrong: this is instance norm. In layer norm all channels share one mean and variance.",
    ),
    Claim(
        "L05",
        ("003",),
        says="Layer norm over H and W, and only that reading, is batch norm at a batch size of 1.",
        how="x̂ of both readings and of batch norm on random tensors of one example.",
        expected="holds",
        check=is_batch_of_one,
        see="/identities?row=over-positions-one-case&n=1",
        condition="Layer norm over H, W and C mixes channels, which batch norm never does.",
    ),
)
"""Its claims."""
