"""Claims of Table 1, cell by cell, on dense and on conv layers."""

from collections.abc import Iterator
from functools import lru_cache, partial

from normviz.core.registry import SCHEMES
from normviz.core.text import capitalize_first, typeset
from normviz.core.theory import predict
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS, look_up_paper_cell
from normviz.topics.claims.claim import Claim
from normviz.topics.claims.trials import Trial, expect_at_least, expect_equal, list_seeds
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.table1.table import Cell, measure_cells
from normviz.train.problem import find_network_index
from normviz.train.setting import Setting

TRAINING_STEPS = 20
"""Training steps of the twins."""

COMPARED_EPS = 1e-3
"""The ε > 0 that is compared with ε = 0."""

MIN_DIFFERENCE = 1e-5
"""Smallest relative difference that counts as one: rounding is about 10⁻¹⁵, and some seeds draw a small shift."""


@lru_cache(maxsize=8)
def train_table_cells(layer: str, seed: int) -> dict[tuple[str, str], Cell]:
    """Train twins for the paper's three rows of Table 1; return the cells by scheme and transformation, cached."""
    setting = Setting(layer=layer, steps=TRAINING_STEPS, seed=seed, device="cpu")
    cells = measure_cells([SCHEMES[key] for key in PAPER_TABLE], setting)
    return {(cell.scheme, cell.transformation): cell for cell in cells}


@lru_cache(maxsize=256)
def measure_transformed_gaps(layer: str, scheme: str, eps: float, seed: int) -> tuple[float, ...]:
    """Return the relative change of a layer's output by every transformation, in the order of `NETWORKS`."""
    found = measure_forward_gaps([SCHEMES[scheme]], Setting(layer=layer, eps=eps, seed=seed))
    return tuple(map(float, found[0]))


def measure_gap_over_seeds(layer: str, scheme: str, change: str, seed: int, eps: float = 0.0) -> tuple[float, ...]:
    """Return the relative change of a layer's output by one transformation, `change`, one per seed from `seed` on."""
    place = find_network_index(TRANSFORMATIONS[change])
    return tuple(measure_transformed_gaps(layer, scheme, eps, each)[place] for each in list_seeds(seed))


def check_cell(layer: str, scheme: str, change: str, claimed: bool, seed: int) -> Iterator[Trial]:
    """Yield trials that test an entry of Table 1 by theory, and by outputs and training of a layer on digits.

    δ is 3 and ε is 0.
    """
    cell, row = train_table_cells(layer, seed)[scheme, change], TRANSFORMATIONS[change]
    reason = cell.reason.removeprefix(f"{capitalize_first(row.name)}: ").rstrip(".")
    rule = f"the rule says {'' if cell.predicted else 'not '}invariant: {reason[:1].lower()}{reason[1:]}"
    losses = f"largest relative difference of the losses over {TRAINING_STEPS} steps, one seed"
    what = "largest relative difference of the layer's outputs"
    found = measure_gap_over_seeds(layer, scheme, change, seed)
    yield Trial(rule, cell.predicted == claimed)
    yield expect_equal(what, found) if claimed else expect_at_least(what, found, MIN_DIFFERENCE)
    yield Trial(losses, cell.trained == claimed, (cell.training_gap,))
    if cell.predicted and row.weight_factor is not None:
        equal_rate = f"{losses}, at the original's learning rate"
        yield expect_at_least(equal_rate, (cell.training_gap_equal_lr,), MIN_DIFFERENCE, fact=True)
    if cell.predicted and SCHEMES[scheme].activation_part is not None:
        what += f" at ε = {typeset(COMPARED_EPS)}"
        found = measure_gap_over_seeds(layer, scheme, change, seed, COMPARED_EPS)
        is_equal = row.factor is None
        yield expect_equal(what, found, True) if is_equal else expect_at_least(what, found, MIN_DIFFERENCE, True)


def check_conv_recentring(seed: int) -> Iterator[Trial]:
    """Yield trials that test the entry that differs for convolutions, and the layer norm variant for which it holds."""
    yield from check_cell("conv", *CONV_EXCEPTION, claimed=True, seed=seed)
    other = measure_gap_over_seeds("conv", "layer-channels", CONV_EXCEPTION[1], seed)
    what = "largest relative difference of the outputs of layer norm over the channels alone"
    yield expect_equal(what, other, fact=True)


CONV_EXCEPTION = ("layer", "weight-matrix-recentering")
"""The cell of Table 1 that a convolution changes."""

CONV_EXCEPTION_REASON = (
    "What is added differs from position to position. Layer norm over H, W and C subtracts one mean for all positions. "
    "Over the channels of each position alone, as ConvNeXt has it, layer norm cancels τ·x."
)


def list_conditions(layer: str, scheme: str, change: str, claimed: bool) -> Iterator[str]:
    """Yield sentences: the reason of the theory's prediction and, if `claimed` invariant, the conditions."""
    row, setting = TRANSFORMATIONS[change], Setting(layer=layer)
    rule = predict(SCHEMES[scheme], row, layer, setting.shapes[0], setting.weight_shapes[0])
    yield capitalize_first(rule.reason.rpartition(": ")[2])
    if not claimed:
        return
    if row.factor is not None and SCHEMES[scheme].activation_part is not None:
        yield "At ε = 0: where ε is not small beside the variance, a part of the re-scaling comes through."
    if row.weight_factor is not None:
        yield "Trained by SGD, the two stay together where the re-scaled weights have δ² times the learning rate."
    if layer == "conv" and row.on == "data" and row.shift:
        yield "Without padding: zeros around the pictures are not shifted with them."


def make_cell_claim(number: int, layer: str, scheme: str, change: str, claimed: bool) -> Claim:
    """Make the claim that the paper's entry `claimed` is right for a scheme and change on a "dense" or "conv" layer."""
    row, conv = TRANSFORMATIONS[change], layer == "conv"
    changed = conv and (scheme, change) == CONV_EXCEPTION
    said = f"{SCHEMES[scheme].name} is {'' if claimed else 'not '}invariant to {row.name} ({row.plain})."
    rows = "&schemes=layer,layer-channels" if changed else ""
    return Claim(
        f"T{'C' * conv}{number:02}",
        ("normviz",) if conv else ("000",),
        says=f"On a convolution, too, {said}" if conv else capitalize_first(said),
        expected="wrong" if changed else "holds",
        check=check_conv_recentring if changed else partial(check_cell, layer, scheme, change, claimed),
        see=f"/invariance?cell={scheme}.{change}{'&layer=conv' * conv}{rows}",
        condition=CONV_EXCEPTION_REASON if changed else " ".join(list_conditions(layer, scheme, change, claimed)),
        once=True,
    )


CLAIMS: tuple[Claim, ...] = tuple(
    make_cell_claim(number, layer, scheme, change, bool(look_up_paper_cell(scheme, change)))
    for layer in ("dense", "conv")
    for number, (scheme, change) in enumerate(((row, column) for row in PAPER_TABLE for column in TRANSFORMATIONS), 1)
)
"""The claims of this topic, in the order of the page."""
