"""Table 1: predicted, measured forward and trained, for every scheme, every transformation and fields of one's own."""

import json
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from normviz.cli import table1 as table1_command
from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, Field
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.settings import Real, get_declarations
from normviz.core.theory import explain_degeneracy, predict
from normviz.core.tolerances import INVARIANCE_TOLERANCES
from normviz.core.transformations import OPTIMIZERS, PAPER_TABLE, TRANSFORMATIONS
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.table1.table import measure_cells
from normviz.train.problem import BASE_POSITIONS, NETWORKS, find_network_index, make_problem
from normviz.train.setting import Setting

SMALL = {"dense": Setting(steps=40, batch=16, width=16), "conv": Setting(layer="conv", steps=30, batch=8, width=6)}
COMPARED = {key: get_scheme(key, radius=2) for key in SCHEMES}
RESCALED = ("weight-matrix-rescaling", "weight-vector-rescaling")


def cells_of(keys, setting):
    return measure_cells([COMPARED[key] for key in keys], setting)


@pytest.fixture(scope="module")
def paper_cells():
    return cells_of(PAPER_TABLE, Setting())


def test_the_papers_cells_in_all_three_answers(paper_cells):
    assert len(paper_cells) == 18
    for cell in paper_cells:
        assert cell.predicted == cell.forward == cell.trained == cell.invariant == cell.paper, cell
        assert cell.training_gap < 1e-9 if cell.paper else cell.training_gap > 1e-3, cell


def test_the_reasons_name_what_is_crossed(paper_cells):
    reasons = {(cell.scheme, cell.transformation): cell.reason for cell in paper_cells}
    assert "spans the examples" in reasons["batch", "weight-matrix-recentering"]
    assert "spans the channels" in reasons["layer", "weight-vector-rescaling"]
    assert "the data are not used" in reasons["weight", "dataset-rescaling"]


@pytest.mark.parametrize("layer", SMALL)
def test_every_scheme_agrees_or_is_degenerate(layer):
    cells = cells_of(SCHEMES, SMALL[layer])
    assert len(cells) == len(SCHEMES) * len(TRANSFORMATIONS)
    assert [(c.scheme, c.transformation) for c in cells if not c.agrees] == []
    hollow = {cell.scheme for cell in cells if cell.degenerate}
    assert hollow == ({"layer-spatial", "instance", "filter-response"} if layer == "dense" else set())
    assert not any(cell.invariant or cell.predicted for cell in cells if cell.degenerate)


def test_what_a_convolution_changes():
    setting = SMALL["conv"]
    found = {(c.scheme, c.transformation): c.invariant for c in cells_of(SCHEMES, setting)}
    assert not found["layer", "weight-matrix-recentering"]
    assert found["layer-channels", "weight-matrix-recentering"]
    assert found["layer-weight", "weight-vector-rescaling"]
    assert not found["layer-weight", "weight-matrix-recentering"]
    # One input channel: weights of mean zero do not see a constant.
    assert found["weight-standardization", "dataset-recentering"]


@pytest.mark.parametrize("optimizer", OPTIMIZERS)
def test_rescaled_weights_need_their_learning_rate(optimizer):
    cells = cells_of(("batch", "weight", "layer"), Setting(optimizer=optimizer))
    for cell in cells:
        assert cell.agrees, cell
        if cell.transformation in RESCALED and cell.invariant:
            assert cell.training_gap < 1e-9 < 1e-3 < cell.training_gap_equal_lr, cell
        elif cell.transformation not in RESCALED:
            assert cell.training_gap == cell.training_gap_equal_lr


@pytest.mark.parametrize("layer", SMALL)
@pytest.mark.parametrize("depth", [2, 4])
def test_depth_changes_no_verdict(layer, depth):
    # Weight standardization has no 1 / sqrt(fan-in): its activations grow from layer to layer.
    setting = replace(SMALL[layer], depth=depth, steps=15, rate=0.02)
    assert all(cell.agrees for cell in cells_of(("batch", "layer", "group", "rms", "weight"), setting))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_less_precision(dtype):
    cells = cells_of(("batch", "weight", "layer"), Setting(dtype=dtype))
    assert all(cell.agrees for cell in cells)
    if dtype == "float32":
        assert all(cell.trained for cell in cells if cell.predicted)
    rounding = {cell.forward_gap for cell in cells if cell.predicted}
    assert max(rounding) < INVARIANCE_TOLERANCES[dtype]
    assert max(rounding) > {"float32": 1e-8, "bfloat16": 1e-3, "float16": 1e-4}[dtype]


def test_what_rounding_alone_does_is_no_answer():
    # Windows of two elements at the border of a dense layer: training there is chaotic.
    cells = measure_cells([get_scheme("divisive", radius=1)], Setting())
    untold = [cell for cell in cells if cell.trained is None]
    assert all("rounding" in cell.unanswered for cell in untold)
    assert len(untold) >= 4
    assert all(cell.agrees for cell in cells)


def test_a_run_that_diverges_is_no_answer():
    cells = {cell.transformation: cell for cell in cells_of(("batch",), Setting(rate=1e6))}
    assert "diverged" in cells["dataset-rescaling"].unanswered
    assert all(cell.agrees for cell in cells.values())


def test_epsilon_breaks_every_rescaling_and_no_recentring():
    exact, smooth = (cells_of(("batch", "layer"), Setting(eps=eps)) for eps in (0.0, 1e-2))
    for before, after in zip(exact, smooth, strict=True):
        change = TRANSFORMATIONS[after.transformation]
        if before.invariant:
            assert after.invariant == (change.factor is None)
            assert after.fades == (change.factor is not None)


def fields():
    rules = st.sampled_from(["own", "full"])
    channel = st.sampled_from(["own", "full", "groups(2)", "window(2)"])
    return st.tuples(st.sampled_from(["own", "full", "groups(2)"]), rules, rules, channel).map(
        lambda texts: Field.parse(",".join(texts))
    )


@settings(max_examples=60)
@given(st.none() | fields(), st.none() | fields(), st.sampled_from(["dense", "conv"]))
def test_prediction_meets_the_forward_pass_for_any_fields(summation, suppression, layer):
    setting = SMALL[layer]
    scheme = SCHEMES["custom"].with_fields(summation, suppression)
    shape = setting.shapes[0]
    assume(not explain_degeneracy(scheme, shape, 0.0))
    gaps = measure_forward_gaps([scheme], setting)[0]
    for change in TRANSFORMATIONS.values():
        gap = gaps[find_network_index(change)]
        predicted = predict(scheme, change, layer, shape, setting.weight_shapes[0])
        assert predicted.invariant == (gap < INVARIANCE_TOLERANCES["float64"]), (change.key, gap, predicted.reason)


def test_training_meets_prediction_for_drawn_fields():
    rng = np.random.default_rng(0)
    rules = (["own", "full", "groups(2)"], ["full"], ["full"], ["own", "full", "groups(2)", "groups(4)"])
    drawn = [
        SCHEMES["custom"].with_fields(*(Field.parse(",".join(rng.choice(r) for r in rules)) for _ in range(2)))
        for _ in range(12)
    ]
    for cell in measure_cells(drawn, Setting(steps=30, width=16)):
        assert cell.agrees, cell


def test_every_network_starts_alike():
    problem = make_problem(Setting())
    original = problem.weights[0][find_network_index(None)]
    for change in TRANSFORMATIONS.values():
        same = np.array_equal(problem.weights[0][find_network_index(change)], original)
        assert same == (change.on == "data")
    controls = [network for network in NETWORKS if network.disturbed]
    assert len(NETWORKS) == 1 + len(TRANSFORMATIONS) + len(RESCALED) + len(controls)
    for place, network in enumerate(NETWORKS):
        same = np.array_equal(problem.weights[0][place], problem.weights[0][BASE_POSITIONS[place]])
        assert same == (not network.disturbed) or not BASE_POSITIONS[place], network


def test_the_same_seed_gives_the_same_table_and_another_another():
    first, again, other = (cells_of(("layer",), Setting(steps=5, seed=seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


def test_a_run_that_does_not_stay_finite_has_no_answer():
    cells = cells_of(("none",), Setting(rate=1e6, steps=20))
    assert all(cell.trained is None and np.isinf(cell.training_gap) for cell in cells)
    assert all(cell.to_record()["training_gap"] is None for cell in cells)


@pytest.mark.parametrize(
    ("values", "word"),
    [
        (
            {"delta": 0},
            "δ = 0; a number from 0.001 to 1000 would do: the claims are about δ > 0; 0 leaves nothing, and",
        ),
        ({"delta": -2.0}, "δ = −2; a number from 0.001 to 1000 would do: the claims are about δ > 0"),
        ({"delta": float("nan")}, "δ > 0"),
        ({"steps": 10**6}, "steps = 1000000; a whole number from 1 to 2000 would do."),
        ({"eps": -1.0}, "ε = −1; a number from 0 to 1000 would do."),
        ({"optimizer": "lion"}, "optimizer = 'lion'; sgd, momentum or adam would do."),
        ({"layer": "recurrent"}, "layer = 'recurrent'; dense or conv would do."),
        ({"dtype": "int8"}, "dtype = 'int8'; float64, float32, bfloat16 or float16 would do."),
        ({"batch": 1}, "batch = 1; a whole number from 2 to 256 would do."),
    ],
)
def test_settings_out_of_bounds(values, word):
    with pytest.raises(InvalidInput, match=word):
        Setting(**values)


def test_the_command_line(capsys):
    assert main(["table1", "--schemes", "batch", "--field", "C=full", "--steps", "20", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["scheme"] for row in rows] == ["batch"] * 6 + ["custom"] * 6
    assert set(rows[0]) >= {"predicted", "forward_gap", "training_gap", "training_gap_equal_lr", "invariant", "paper"}
    assert rows[0]["paper"] is True
    assert rows[6]["paper"] is None
    assert main(["table1", "--steps", "5"]) == 0
    assert "case-rescaling" in capsys.readouterr().out


@pytest.mark.parametrize(
    "arguments",
    [
        ["--delta", "0"],
        ["--schemes", "foo"],
        ["--steps", "x"],
        ["--groups", "5", "--schemes", "group"],
        ["--device", "tpu"],
    ],
)
def test_bad_command_lines(arguments, capsys):
    assert main(["table1", *arguments]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert len(printed.err.splitlines()) == 1


def test_axes_of_the_transformations_are_axes():
    for change in TRANSFORMATIONS.values():
        on_sums = {*(change.factor or ()), *(axis for axes in change.shift.values() for axis in axes)}
        on_weights = {*(change.weight_factor or ()), *(change.weight_shift or ())}
        assert on_sums <= set(AXES["activation"])
        assert on_weights <= set(AXES["weight"])
        assert (change.factor is None) == bool(change.shift)


@pytest.mark.parametrize("name", get_declarations(Setting))
def test_every_setting_is_an_option(name, monkeypatch, capsys):
    declared, seen = get_declarations(Setting)[name], []
    number = isinstance(declared, Real)
    right = declared.compute_limits({})[1] if number else declared.list_options({})[-1]
    wrong = right + 1 if number else "no such"
    monkeypatch.setattr(table1_command, "measure_cells", lambda schemes, setting: seen.append(setting) or [])
    assert main(["table1", f"--{name}", declared.format_for_link(right)]) == 0
    assert seen == [Setting(**{name: right})]
    assert main(["table1", f"--{name}", declared.format_for_link(wrong)]) == 2
    told = capsys.readouterr().err
    assert told.startswith(f"normviz: {declared.symbol or name} = ")
    assert told.count("\n") == 1
