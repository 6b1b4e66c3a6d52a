"""Table 1, cell by cell, on dense and on conv layers."""

from collections.abc import Iterator
from functools import lru_cache, partial

from normviz.core.registry import SCHEMES
from normviz.core.text import capitalize_first, typeset
from normviz.core.theory import predict
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS, look_up_paper_cell
from normviz.topics.claims.claim import Claim, Evidence, Trial, apart, over, same
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.table1.table import Cell, measure_cells
from normviz.train.problem import find_network_index
from normviz.train.setting import Setting

STEPS = 20
"""That twins are trained for."""

EPS = 1e-3
"""The ε > 0 that is held against ε = 0."""

APART = 1e-5
"""Relative differences from here on are no rounding, which is about 10⁻¹⁵; some seeds draw a shift that is small."""


@lru_cache(maxsize=8)
def trained(layer: str, seed: int) -> dict[tuple[str, str], Cell]:
    """The cells of the paper's three rows, by scheme and transformation; one training for all claims."""
    setting = Setting(layer=layer, steps=STEPS, seed=seed, device="cpu")
    cells = measure_cells([SCHEMES[key] for key in PAPER_TABLE], setting)
    return {(cell.scheme, cell.transformation): cell for cell in cells}


@lru_cache(maxsize=256)
def gaps(layer: str, scheme: str, eps: float, seed: int) -> tuple[float, ...]:
    """How far the outputs of every transformed layer are from the original's, relative, by its place in `NETWORKS`."""
    found = measure_forward_gaps([SCHEMES[scheme]], Setting(layer=layer, eps=eps, seed=seed))
    return tuple(map(float, found[0]))


def outputs(layer: str, scheme: str, change: str, seed: int, eps: float = 0.0) -> tuple[float, ...]:
    """How far one transformed layer's outputs are from the original's, over seeds."""
    place = find_network_index(TRANSFORMATIONS[change])
    return over(seed, lambda each: gaps(layer, scheme, eps, each)[place])


def cell_is(layer: str, scheme: str, change: str, claimed: bool, seed: int) -> Evidence:
    """A cell three times: by the rule, by a forward pass, and by twins that train; then what its condition says."""
    cell, row = trained(layer, seed)[scheme, change], TRANSFORMATIONS[change]
    reason = cell.reason.removeprefix(f"{capitalize_first(row.name)}: ").rstrip(".")
    rule = f"the rule says {'' if cell.predicted else 'not '}invariant: {reason[:1].lower()}{reason[1:]}"
    losses = f"largest relative difference of the losses over {STEPS} steps, one seed"
    what, found = "largest relative difference of the layer's outputs", outputs(layer, scheme, change, seed)
    trials = [
        Trial(rule, cell.predicted == claimed),
        same(what, found) if claimed else apart(what, found, APART),
        Trial(losses, cell.trained == claimed, (cell.training_gap,)),
    ]
    if cell.predicted and row.weight_factor is not None:
        trials.append(
            apart(f"{losses}, at the original's learning rate", (cell.training_gap_equal_lr,), APART, fact=True)
        )
    if cell.predicted and SCHEMES[scheme].on_activations is not None:
        what, found = (
            f"largest relative difference of the layer's outputs at ε = {typeset(EPS)}",
            outputs(layer, scheme, change, seed, EPS),
        )
        trials.append(same(what, found, fact=True) if row.factor is None else apart(what, found, APART, fact=True))
    return Evidence(trials)


def over_positions(seed: int) -> Evidence:
    """The one cell that a convolution changes, and the reading of layer norm that has it as the paper does."""
    found = cell_is("conv", *ELSEWHERE, claimed=True, seed=seed)
    other = outputs("conv", "layer-channels", ELSEWHERE[1], seed)
    what = "largest relative difference of the outputs of layer norm over the channels alone"
    return Evidence([*found.trials, same(what, other, fact=True)])


ELSEWHERE = ("layer", "weight-matrix-recentering")
"""The cell of Table 1 that a convolution changes."""

LEFT = (
    "What is added differs from position to position. Layer norm over H, W and C subtracts one mean for all positions. "
    "Over the channels of each position alone, as ConvNeXt has it, layer norm cancels τ·x."
)


def conditions(layer: str, scheme: str, change: str, claimed: bool) -> Iterator[str]:
    """Yield why a cell is so, as the rule ends, and what an invariant cell is subject to, in sentences."""
    row, setting = TRANSFORMATIONS[change], Setting(layer=layer)
    rule = predict(SCHEMES[scheme], row, layer, setting.shapes[0], setting.weight_shapes[0])
    yield capitalize_first(rule.reason.rpartition(": ")[2])
    if not claimed:
        return
    if row.factor is not None and SCHEMES[scheme].on_activations is not None:
        yield "At ε = 0: where ε is not small beside the variance, a part of the re-scaling comes through."
    if row.weight_factor is not None:
        yield "Trained by SGD, the two stay together where the re-scaled weights have δ² times the learning rate."
    if layer == "conv" and row.on == "data" and row.shift:
        yield "Without padding: zeros around the pictures are not shifted with them."


def record(number: int, layer: str, scheme: str, change: str, claimed: bool) -> Claim:
    """A cell as a claim: as the paper has it on dense layers, and read on a convolution."""
    row, conv = TRANSFORMATIONS[change], layer == "conv"
    changed = conv and (scheme, change) == ELSEWHERE
    said = f"{SCHEMES[scheme].name} is {'' if claimed else 'not '}invariant to {row.name} ({row.plain})."
    rows = "&schemes=layer,layer-channels" if changed else ""
    return Claim(
        f"T{'C' * conv}{number:02}",
        ("normviz",) if conv else ("000",),
        says=f"On a convolution, too, {said}" if conv else capitalize_first(said),
        how="By the rule that a factor or a shift divides out, or is taken off, where it is one number inside every "
        f"field; and by a {layer} layer on digits, δ = 3, ε = 0: its outputs, and its training.",
        expected="wrong" if changed else "holds",
        check=over_positions if changed else partial(cell_is, layer, scheme, change, claimed),
        see=f"/invariance?cell={scheme}.{change}{'&layer=conv' * conv}{rows}",
        condition=LEFT if changed else " ".join(conditions(layer, scheme, change, claimed)),
    )


CLAIMS: tuple[Claim, ...] = tuple(
    record(number, layer, scheme, change, bool(look_up_paper_cell(scheme, change)))
    for layer in ("dense", "conv")
    for number, (scheme, change) in enumerate(((row, column) for row in PAPER_TABLE for column in TRANSFORMATIONS), 1)
)
"""Its claims."""
