"""What can be told is right, and what cannot be told is said to be so."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.cli.main import main
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.settings import get_declarations
from normviz.core.text import format_number
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.jobs.spec import run_to_end
from normviz.topics.table1 import forward, sweeps, table
from normviz.topics.table1.half_precision import explain_half_precision_failures
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.table import measure_cells
from normviz.train.problem import BASE_POSITIONS, NETWORKS, ORIGINAL, find_network_index, make_problem
from normviz.train.setting import Setting

SMALL = Setting(steps=8, batch=8, width=8, device="cpu")
FACTORS = [key for key, change in TRANSFORMATIONS.items() if change.factor is not None]


def cells_of(setting, keys=PAPER_TABLE):
    cells = measure_cells([get_scheme(key) for key in keys], setting)
    return {(cell.scheme, cell.transformation): cell for cell in cells}


def custom(*fields):
    return SCHEMES["custom"].with_fields(*(Field.parse(text, SCHEMES["custom"].axes) for text in fields))


@pytest.mark.parametrize("dtype", ["float64", "bfloat16"])
def test_a_factor_of_1_changes_nothing_and_tells_nothing(dtype):
    cells = cells_of(replace(SMALL, delta=1.0, dtype=dtype))
    for (_, change), cell in cells.items():
        assert cell.agrees, cell
        assert cell.unchanged == (change in FACTORS)
        if cell.unchanged:
            assert (cell.forward, cell.trained, cell.invariant, cell.to_record()["invariant"]) == (None,) * 4
            assert (
                cell.missing_reasons == cell.to_record()["reason"] == "δ = 1 changes nothing, so nothing can be told."
            )


def test_the_command_says_that_nothing_was_changed_and_ends_with_0(capsys):
    assert main(["table1", "--delta", "1", "--steps", "5", "--schemes", "batch"]) == 0
    printed = capsys.readouterr()
    assert printed.out.count("δ = 1 changes nothing") == len(FACTORS)
    assert printed.err == ""


def test_a_sweep_has_no_gap_where_nothing_is_changed():
    settings, results = sweeps.build_delta_settings(SMALL)[: len(sweeps.DELTAS)], TableResultCache()
    for setting in settings:
        for job in results.list_missing_measurements([SCHEMES["layer"]], setting):
            results.store_forward(job, run_to_end(job))
    gaps = sweeps.collect_forward_gaps([SCHEMES["layer"]], settings, results)[:, 0]
    factors = [key in FACTORS for key in TRANSFORMATIONS]
    assert np.isnan(gaps[sweeps.DELTAS.index(1.0)]).tolist() == factors
    assert not np.isnan(np.delete(gaps, sweeps.DELTAS.index(1.0), 0)).any()


@pytest.mark.parametrize("optimizer", ["sgd", "adam"])
@pytest.mark.parametrize("delta", [1.0001, 0.9999, 1.000001])
def test_near_1_no_answer_is_against_another(delta, optimizer):
    cells = cells_of(replace(SMALL, delta=delta, optimizer=optimizer, rate=None), (*PAPER_TABLE, "rms", "group"))
    for cell in cells.values():
        assert cell.agrees, cell
        assert not (cell.trained and not cell.forward), cell


def test_what_is_too_small_for_the_type_is_said_to_be_so():
    cells = cells_of(replace(SMALL, delta=1.000001, dtype="float32"))
    told = [cells["layer", key] for key in FACTORS]
    assert all(
        cell.invariant is None and "Too small to tell" in cell.missing_reasons for cell in told if cell.predicted
    )


@pytest.mark.parametrize("delta", [0.1, 0.001, 1000.0])
def test_adam_takes_zero_by_the_unit(delta):
    cells = cells_of(
        Setting(delta=delta, dtype="float32", optimizer="adam", device="cpu", steps=60), ("batch", "weight")
    )
    for scheme in ("batch", "weight"):
        assert cells[scheme, "weight-vector-rescaling"].trained, cells[scheme, "weight-vector-rescaling"]


def test_rescaling_a_unit_moves_nobody_elses_zero():
    from normviz.train.optimizers import OPTIMIZERS

    weights = torch.ones(1, 1, 1, 1, 3, 2)
    gradient = torch.tensor([[1.0, 1.0], [1.0, 1e-4], [1.0, 1e-9]]).view_as(weights)
    moved = []
    for factor in (1.0, 1e3):
        p = weights / torch.tensor([factor, 1.0])
        OPTIMIZERS["adam"]([p], [torch.full_like(p, 0.1)])([gradient * torch.tensor([factor, 1.0])])
        moved.append(p[..., 1])
    assert torch.equal(*moved)
    assert (moved[0] != 1).flatten().tolist() == [True, True, False]  # 1e-9 is rounding beside 1, 1e-4 is not


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_a_network_that_does_not_learn_proves_nothing(layer):
    seen = []
    for seed in range(4):
        setting = Setting(layer=layer, depth=4, width=2, seed=seed, steps=5, batch=8, device="cpu")
        for cell in cells_of(setting, ("weight-standardization", "weight", "none")).values():
            assert cell.agrees, cell
            assert not (cell.trained and cell.forward is False), cell
            seen += [cell.unanswered] if cell.unanswered and "barely depend" in cell.unanswered else []
    assert seen or layer == "conv"


@pytest.mark.parametrize(("dtype", "least"), [("float64", 18), ("float32", 18), ("bfloat16", 17), ("float16", 17)])
def test_the_papers_cells_are_answered_in_every_type(dtype, least):
    cells = cells_of(Setting(dtype=dtype, device="cpu"))
    assert all(cell.agrees for cell in cells.values())
    assert sum(cell.invariant is not None for cell in cells.values()) == 18
    assert sum(cell.trained is not None for cell in cells.values()) >= least


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
@pytest.mark.parametrize("eps", [1e-3, 1e-9])
def test_what_fades_fades_as_predicted(eps, dtype):
    cells = cells_of(replace(SMALL, eps=eps, dtype=dtype), ("batch", "layer", "divisive", "layer-weight"))
    fading = [cell for cell in cells.values() if cell.fades]
    assert len(fading) >= 8
    assert all(cell.agrees for cell in cells.values())


@pytest.mark.parametrize("wrong", [0.5, 1.2, 2.0])
def test_a_gap_that_does_not_fade_as_predicted_disagrees(wrong, monkeypatch):
    real = forward.measure_output_gap
    monkeypatch.setattr(forward, "measure_output_gap", lambda *outputs: wrong * real(*outputs))
    cells = cells_of(replace(SMALL, eps=1e-3), ("batch",))
    assert not any(cell.agrees for cell in cells.values() if cell.fades)


def test_losses_that_do_not_fade_disagree(monkeypatch):
    setting = replace(SMALL, eps=1e-1)
    cells = cells_of(setting, ("batch",))
    assert all(cell.agrees and cell.trained is False for cell in cells.values() if cell.fades)
    monkeypatch.setattr(table, "compute_loss_gaps", lambda losses: _without_twins(losses))
    cells = cells_of(setting, ("batch",))
    assert not cells["batch", "dataset-rescaling"].agrees


def test_a_fade_that_rounding_hides_in_the_losses_is_no_invariance():
    setting = Setting(
        delta=0.010939975729665938, eps=4.329364692049466e-08, dtype="float32", optimizer="momentum", steps=8, batch=16,
        width=16, depth=2, seed=3054, device="cpu",
    )  # fmt: skip
    scheme = custom(*["full, own, window(1), full"] * 2)
    [cell] = [cell for cell in measure_cells([scheme], setting) if cell.transformation == "dataset-rescaling"]
    assert cell.fades
    assert cell.trained is not True
    assert cell.agrees


def _without_twins(losses):
    """Gaps as if every twin had the original's losses."""
    same = [place if network.disturbed else 0 for place, network in enumerate(NETWORKS)]
    shown = losses[:, same]
    return np.abs(shown - shown[:, BASE_POSITIONS[: len(NETWORKS)]]) / np.abs(losses[:, :1]).max()


@pytest.mark.parametrize("seed", range(3))
def test_a_field_that_is_constant_in_the_data_is_not_called_variant(seed):
    field = Field.parse("own, full, own, own")
    setting = Setting(layer="conv", steps=8, batch=8, seed=seed, device="cpu")
    cells = measure_cells([SCHEMES["custom"].with_fields(field, field)], setting)
    cell = next(cell for cell in cells if cell.transformation == "dataset-recentering")
    assert cell.predicted
    assert cell.forward is not False
    assert cell.trained is not False, cell
    assert cell.agrees


@settings(max_examples=30)
@given(
    st.sampled_from(["batch", "layer", "group", "rms"]),
    st.floats(1e-10, 1.0),
    st.sampled_from(["bfloat16", "float16"]),
    st.floats(1e-3, 1e3),
)
def test_what_half_precision_breaks(key, eps, dtype, delta):
    setting, change = replace(SMALL, dtype=dtype, eps=eps, delta=delta), TRANSFORMATIONS["dataset-rescaling"]
    told = " ".join(explain_half_precision_failures(get_scheme(key), change, setting))
    assert ("is 0 in float16" in told) == (dtype == "float16" and np.float16(eps) == 0)
    assert "overflow" not in told
    assert ("beyond 65,504" in told) <= (dtype == "float16" and delta > 10)
    assert explain_half_precision_failures(get_scheme(key), change, replace(setting, dtype="float32")) == []


def test_epsilon_that_vanishes_and_squares_that_overflow():
    change = TRANSFORMATIONS["dataset-rescaling"]
    (told,) = explain_half_precision_failures(SCHEMES["batch"], change, replace(SMALL, dtype="bfloat16", eps=1e-5))
    assert told.startswith("ε = 10⁻⁵ vanishes in bfloat16")
    assert torch.tensor(0.1).bfloat16() + torch.tensor(1e-5).bfloat16() == torch.tensor(0.1).bfloat16()
    (told,) = explain_half_precision_failures(SCHEMES["batch"], change, replace(SMALL, dtype="float16", delta=1000.0))
    assert "its square is beyond 65,504" in told


def test_the_help_on_epsilon_is_so_for_every_scheme():
    """Weight and spectral norm divide, too, and have no ε."""
    assert not any(forward.has_eps(scheme) for scheme in SCHEMES.values() if scheme.is_weight_scheme)
    assert forward.has_eps(SCHEMES["layer-weight"])
    assert "divides activations" in get_declarations(Setting)["eps"].help


@pytest.mark.parametrize("change", ["weight-matrix-rescaling", "weight-vector-rescaling", "case-rescaling"])
@pytest.mark.parametrize("key", ["batch", "layer-weight"])
def test_the_largest_number_is_that_of_the_transformed_network(key, change):
    """Of re-scaled weights behind weight norm nothing comes through; of one unit or example the others say nothing."""
    setting = Setting(dtype="float16", delta=1000.0, batch=8, width=8)
    scheme, networks = get_scheme(key), [ORIGINAL, find_network_index(TRANSFORMATIONS[change])]
    problem = make_problem(replace(setting, steps=1), networks)
    largest = 0.0
    for k in range(2):
        x = problem.inputs[problem.order[0]] * problem.factor[k] + problem.shift[k]
        a = forward.compute_pre_activations(x, problem.weights[0][k], scheme, replace(setting, dtype="float64"))
        v = a - a.mean(0 if key == "batch" else -1, keepdims=True)
        largest = max(largest, float(np.abs(v).max()))
    told = explain_half_precision_failures(scheme, TRANSFORMATIONS[change], setting)
    assert [f"The largest |v| is {format_number(largest)}:" in text for text in told] == [True] * (largest**2 > 65_504)


def test_adam_takes_a_unit_for_zero_whose_whole_gradient_is_rounding():
    setting = Setting(eps=1.3067982986499765e-08, optimizer="adam", steps=6, batch=3, width=16, seed=754, device="cpu")
    assert cells_of(setting, ("batch",))["batch", "dataset-recentering"].trained


def test_what_half_precision_does_not_show_is_no_answer_where_float64_does():
    scheme = custom(*["window(2), own, window(2), groups(2)"] * 2)  # spans a batch of two, all but absorbs the shift
    setting = Setting(dtype="bfloat16", batch=2, width=16, depth=3, rate=0.1, steps=5, seed=7903, device="cpu")
    cell = {cell.transformation: cell for cell in measure_cells([scheme], setting)}["weight-matrix-recentering"]
    assert (cell.predicted, cell.forward, cell.trained, cell.agrees) == (False, None, None, True)
    assert "In float64 the outputs are 0.004 apart, which bfloat16 does not show." in cell.missing_reasons
    before = TableResultCache()
    for job in before.list_missing_measurements([scheme], setting):
        before.store_forward(job, run_to_end(job))
    waits = table.build_cells([scheme], setting, before)
    assert {cell.forward_unanswered for cell in waits if cell.forward_gap < 0.01} == {"In float64: Not measured yet."}


@pytest.mark.parametrize(
    ("scheme", "change", "setting"),
    [
        (
            get_scheme("divisive", radius=3), "dataset-rescaling",  # one weight, whose gradient is all but zero
            Setting(
                delta=111.89129010911662, dtype="float16", optimizer="adam", steps=19, batch=4, width=16, depth=2,
                seed=1221,
            ),
        ),
        (
            SCHEMES["layer-weight"], "weight-matrix-rescaling",
            Setting(
                delta=13.093601117042596, dtype="float16", optimizer="adam", steps=20, batch=3, width=16, depth=3,
                seed=8048,
            ),
        ),
        (
            custom("full, own, full, own", "full, full, own, own"), "dataset-recentering",
            Setting(dtype="float16", steps=20, batch=3, width=4, depth=3, seed=982),
        ),
        (
            custom(*["window(2), full, full, window(2)"] * 2), "dataset-recentering",  # all but absorbed
            Setting(layer="conv", dtype="float16", optimizer="adam", steps=3, batch=4, width=2, depth=2, seed=9788),
        ),
        (
            custom(*["full, window(2), own, groups(2)"] * 2), "dataset-recentering",  # a unit at the kink of its ReLU
            Setting(
                layer="conv", dtype="float32", optimizer="momentum", steps=22, batch=16, width=2, depth=2, seed=3024
            ),
        ),
        (
            SCHEMES["weight-standardization"], "weight-matrix-rescaling",
            Setting(
                delta=787.5, dtype="float32", optimizer="adam", rate=0.01, steps=22, batch=8, width=2, depth=4,
                seed=6465,
            ),
        ),
        (
            SCHEMES["rms"], "weight-matrix-rescaling",
            Setting(
                delta=5.0918657313031686, dtype="float32", optimizer="adam", steps=15, batch=2, width=2, depth=3,
                seed=4259,
            ),
        ),
    ],
)  # fmt: skip
def test_rounding_decides_nothing(scheme, change, setting):
    setting = replace(setting, device="cpu")
    cell = {cell.transformation: cell for cell in measure_cells([scheme], setting)}[change]
    assert {cell.forward, cell.trained} <= {cell.predicted, None}
    assert cell.agrees


@pytest.mark.parametrize("dtype", ["float64", "float32", "bfloat16"])
def test_losses_that_part_in_a_shorter_type_are_held_against_outputs_in_float64(dtype, monkeypatch):
    setting, results = replace(SMALL, dtype=dtype), TableResultCache()
    results.compute_missing([SCHEMES["batch"]], setting)
    apart = np.where([network.disturbed in ("", "probe") for network in NETWORKS], 0.5, 1e-5)
    monkeypatch.setattr(table, "compute_loss_gaps", lambda losses: np.tile(apart, (len(losses), 1)))
    for follow in (True, False):
        for cell in table.build_cells([SCHEMES["batch"]], setting, results, follow):
            unfounded = cell.predicted and not cell.parted_by_rate and dtype != "float64"
            assert cell.trained is (None if unfounded else False), cell
            assert (f"what parts the twins here is rounding to {dtype}" in cell.missing_reasons) == unfounded


def test_a_twin_is_apart_although_no_control_is(monkeypatch):
    """Losses of copies that rounding disturbs may equal the original's by chance; a twin far from it is still apart."""
    for gap, expected in ((0.1, False), (1e-5, None), (0.0, None)):
        kinds = {"": gap, "probe": 0.5}
        gaps = np.array([kinds.get(network.disturbed, 0.0) for network in NETWORKS])
        monkeypatch.setattr(table, "compute_loss_gaps", lambda losses, gaps=gaps: np.tile(gaps, (len(losses), 1)))
        assert {cell.trained for cell in cells_of(SMALL, ("none",)).values()} == {expected}


def test_a_dead_network_is_not_together():
    setting = Setting(delta=69.57489532405434, steps=18, batch=4, width=2, depth=4, seed=6217, device="cpu")
    cell = cells_of(setting, ("weight",))["weight", "dataset-rescaling"]
    assert cell.forward is cell.predicted is False
    assert cell.trained is None
    assert "might not show such a change" in cell.unanswered


@pytest.mark.parametrize(
    ("groups", "setting"),
    [
        (
            1,
            Setting(
                layer="conv", delta=132.99928934438262, eps=9.49691297976593e-11, optimizer="momentum", steps=2,
                batch=32, width=6, depth=4, seed=1894, device="cpu",
            ),
        ),
        (
            1,
            Setting(
                layer="conv", delta=17.74658519942946, eps=1.0997395599642262e-05, dtype="float16", steps=2, batch=4,
                width=6, depth=4, seed=3212, device="cpu",
            ),
        ),
        (
            2,
            Setting(
                delta=38.03076362927746, eps=4.4589678665031557e-10, dtype="float16", optimizer="adam", steps=2,
                batch=3, width=6, depth=4, seed=561, device="cpu",
            ),
        ),
        (
            1,
            Setting(
                delta=319.80896935630676, eps=7.457600744477524e-10, dtype="bfloat16", steps=4, batch=2, width=16,
                seed=1572, device="cpu",
            ),
        ),
    ],
)  # fmt: skip
def test_rounding_that_only_the_rescaled_twin_shows_is_rounding(groups, setting):
    """What rounding leaves of a singular covariance matrix is δ times as large in the twin, while ε is not."""
    cells = measure_cells([get_scheme("whitening", groups=groups)], setting)
    assert all(cell.agrees for cell in cells), [cell.transformation for cell in cells if not cell.agrees]


def test_later_layers_can_cancel_what_fades():
    setting = Setting(
        delta=0.999999, eps=1.69e-06, optimizer="adam", rate=0.01, steps=12, batch=16, width=2, depth=4, seed=7958,
        device="cpu",
    )  # fmt: skip
    cell = cells_of(setting, ("rms",))["rms", "dataset-rescaling"]
    assert (cell.fades, cell.forward, cell.trained, cell.agrees) == (True, False, None, True)
    assert "later layers can cancel" in cell.unanswered


@pytest.mark.parametrize(
    "setting", [Setting(device="cpu"), Setting(layer="conv", steps=10, device="cpu"), Setting(eps=1e-5, device="cpu")]
)
def test_every_cell_of_an_ordinary_setting_is_answered_as_predicted(setting):
    keys = [key for key in SCHEMES if key != "custom"]
    cells = cells_of(setting, keys)
    assert all(cell.agrees for cell in cells.values())
    told = {place: cell for place, cell in cells.items() if cell.degenerate is None}
    assert all(cell.forward is not None for cell in told.values())
    silent = {scheme for (scheme, _), cell in told.items() if cell.trained is None}
    assert silent <= {"divisive", "filter-response"}  # at these settings their training amplifies rounding


def test_weights_without_a_gradient_tell_nothing_under_adam():
    """Two standardized inputs are always +1 and −1. Their gradient is rounding, which Adam scales up."""
    setting = Setting(
        delta=2.3318550419648125,
        optimizer="adam",
        rate=0.01,
        steps=16,
        batch=2,
        width=2,
        depth=3,
        seed=17,
        device="cpu",
    )
    standardized = measure_cells([SCHEMES["weight-standardization"]], setting)
    rescaled = next(cell for cell in standardized if cell.transformation == "weight-matrix-rescaling")
    assert rescaled.forward is True
    assert rescaled.trained is None
    assert rescaled.agrees
    assert "only two inputs" in rescaled.unanswered
