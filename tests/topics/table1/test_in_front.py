"""Table 1 of a scheme of one's own behind a scheme of the weights: what is predicted is measured and trained."""

import json
import sys
from dataclasses import replace

import pytest
from browsing import ROOT

from normviz.cli.main import main
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES
from normviz.core.theory import find_invariances
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.table1.fade import compute_eps_effects
from normviz.topics.table1.grid import build_grid_data
from normviz.topics.table1.table import measure_cells
from normviz.train.setting import Setting

sys.path.insert(0, str(ROOT / "benchmarks"))
from exact import exact_gaps

WEIGHTS = [key for key, row in SCHEMES.items() if row.is_weight_scheme]
FRONTS = pytest.mark.parametrize("front", WEIGHTS)
LAYERS = pytest.mark.parametrize("layer", ["dense", "conv"])
SMALL = Setting(steps=12, batch=8, width=6, device="cpu")
FIELDS = {
    "batch": ["full,full,full,own"] * 2,
    "example": ["own,full,full,full"] * 2,
    "position": ["own,own,own,full"] * 2,
    "groups of examples": ["groups(2),full,full,own"] * 2,
    "no mean": [None, "own,full,full,full"],
    "no root": ["own,own,own,full", None],
    "nothing": [None, None],
}


def behind(name, front):
    fields = (None if text is None else Field.parse(text) for text in FIELDS[name])
    return SCHEMES["custom"].with_fields(*fields).with_weight_scheme(front)


@LAYERS
@FRONTS
@pytest.mark.parametrize("name", FIELDS)
def test_what_is_predicted_is_measured_and_trained(name, front, layer):
    setting, scheme = replace(SMALL, layer=layer), behind(name, front)
    exact, untold = exact_gaps(scheme, setting), (name, front, layer)
    for cell in measure_cells([scheme], setting):
        assert (cell.scheme, cell.front) == ("custom", front)
        if (cell.transformation, *untold) == ("dataset-recentering", "position", "weight-standardization", "conv"):
            # Where a picture is empty, filters of mean zero sum to nothing, and nothing is left to divide.
            assert (cell.forward, cell.trained) == (None, None), cell
        else:
            assert cell.trained == cell.forward == cell.predicted == (exact[cell.transformation] < 1e-12), cell


@LAYERS
def test_layer_norm_of_ones_own_behind_weight_norm_is_the_row_of_that_name(layer):
    setting = replace(SMALL, layer=layer)
    cells = measure_cells([behind("example", "weight"), SCHEMES["layer-weight"]], setting)
    own, row = cells[: len(TRANSFORMATIONS)], cells[len(TRANSFORMATIONS) :]
    assert [replace(cell, scheme="layer-weight") for cell in own] == [*row]
    assert {cell.row_name for cell in row} == {"layer-weight"}
    assert {cell.row_name for cell in own} == {"custom behind weight"}


@LAYERS
@FRONTS
def test_where_nothing_else_is_done_it_absorbs_what_the_scheme_of_the_weights_does(front, layer):
    setting = Setting(layer=layer)
    shapes = layer, setting.shapes[0], setting.weight_shapes[0]
    assert find_invariances(behind("nothing", front), *shapes) == find_invariances(SCHEMES[front], *shapes)


@LAYERS
@FRONTS
@pytest.mark.parametrize("name", ["batch", "position", "no mean"])
def test_both_arithmetics_of_what_fades_agree(name, front, layer):
    setting = replace(SMALL, layer=layer, delta=0.1, eps=1e-2)
    scheme = behind(name, front)
    exact, faded = exact_gaps(scheme, setting), compute_eps_effects(scheme, setting)
    cells = measure_cells([scheme], replace(setting, steps=1))
    assert any(cell.fades for cell in cells)
    for cell in cells:
        assert cell.agrees, cell
        if cell.fades:
            assert faded[cell.transformation].largest == pytest.approx(exact[cell.transformation], rel=1e-9)


@LAYERS
def test_behind_spectral_norm_a_shift_of_the_weights_fades_too(layer):
    """It changes the number that divides all weights, and with them all sums, but not ε."""
    setting = replace(SMALL, layer=layer, eps=1e-2)
    shift = "weight-matrix-recentering"

    def cell(front, setting):
        return next(c for c in measure_cells([behind("position", front)], setting) if c.transformation == shift)

    assert cell("spectral", setting).fades
    assert "which the shift changes, and ε" in cell("spectral", setting).reason
    assert cell("spectral", replace(setting, eps=0.0)).predicted
    assert "which the shift changes, and that factor cancels" in cell("spectral", replace(setting, eps=0.0)).reason
    assert cell(None, setting).predicted


def test_the_grid_names_what_stands_in_front():
    schemes = [behind("batch", "weight-standardization"), behind("nothing", "spectral"), behind("no root", "weight")]
    cells = [cell for scheme in schemes for cell in measure_cells([scheme], replace(SMALL, steps=1))]
    for scheme, note in zip(schemes, ("= Batch + weight std.", "= Spectral", "your own"), strict=True):
        own = [cell for cell in cells if cell.front == scheme.weight]
        (row,) = build_grid_data(own, [scheme], SMALL, "", (), "light", False)["rows"]
        assert (row["name"], row["note"]) == (scheme.label, note)


@pytest.mark.parametrize(
    ("words", "row"),
    [
        (["--front", "spectral"], ("custom", "spectral")),
        (["--front", "weight", "--field", "C=full"], ("custom", "weight")),
        (["--field", "C=full"], ("custom", None)),
    ],
)
def test_the_command_puts_a_scheme_of_the_weights_in_front(words, row, capsys):
    asked = ["table1", "--schemes", "layer-weight", *words, "--steps", "2", "--batch", "8", "--width", "6"]
    assert main([*asked, "--json"]) == 0
    rows = [(cell["scheme"], cell["front"]) for cell in json.loads(capsys.readouterr().out)]
    assert rows == [("layer-weight", "weight")] * 6 + [row] * 6
    assert main(asked) == 0
    assert (f"custom behind {row[1]} " in capsys.readouterr().out) == (row[1] is not None)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (
            ["table1", "--front", "wieght"],
            "'wieght' is not a scheme of weights; weight, ",
        ),
        (["table1", "--front", "batch"], "'batch' is not a scheme of weights"),
        (["normalize", "--scheme", "custom", "--front", "weight", "a.npy", "b.npy"], "unrecognized arguments: --front"),
    ],
)
def test_what_cannot_stand_in_front_is_refused_in_one_line(words, told, capsys):
    assert main(words) == 2
    error = capsys.readouterr().err
    assert told in error
    assert error.count("\n") == 1
