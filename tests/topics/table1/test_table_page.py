"""The Table 1 page as a user meets it, run by Streamlit without a browser."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import plots, replaced, said, sound, texts, traces
from table_page import SMALL, cells_of, open_now, open_table, set_value, settled, words_of

from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.settings import get_declarations
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.describe.notation import build_formulas
from normviz.describe.wording import format_gap
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.topics.table1.grid import ANSWER_LABELS, UNCHANGED_TEXT, build_cell_data
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.state import FIRST_ROWS, PANELS, PARAMS, PREFIX, RATE_EXPLANATION, Page, build_table_setting
from normviz.topics.table1.table import build_cells, measure_cells
from normviz.topics.table1.twin_plot import build_loss_plot, is_visible
from normviz.train import twins
from normviz.train.problem import NETWORKS, find_network_index
from normviz.train.setting import Setting
from normviz.ui.custom import CUSTOM_KEYS
from normviz.ui.scheme_picker import make_state_key

OFFERED = {param.name for param in PARAMS} - {
    *CUSTOM_KEYS,
    "schemes",
    "cell",
    "cover",
    "reveal",
    "groups",
    "radius",
    "delta",
    "eps",
}


def exactly(at):
    """The field for δ as a number."""
    return next(widget for widget in at.number_input if widget.label == "δ exactly")


@pytest.fixture
def trained(monkeypatch):
    """What has been handed to the training since, as (schemes, networks)."""
    calls, real = [], twins.train_stepwise

    def spy(schemes, setting, networks):
        calls.append(([scheme.key for scheme in schemes], len(networks)))
        return real(schemes, setting, networks)

    monkeypatch.setattr(twins, "train_stepwise", spy)
    return calls


@pytest.mark.parametrize("key", [*PAPER_TABLE, "none"])
def test_revealed_the_map_is_the_papers_table_and_without_normalization_all_differs(key):
    words, paper = words_of(open_table(reveal="1", **SMALL)), PAPER_TABLE.get(key, (False,) * 6)
    shown = [words[f"{key}.{change}"] for change in TRANSFORMATIONS]
    assert shown == [ANSWER_LABELS["yes" if each else "no"] for each in paper]


def test_every_control_is_offered():
    at = open_table(**SMALL)
    rows = {make_state_key("schemes", part) for part in ("common", "more")}
    widgets = [
        *at.button_group,
        *at.multiselect,
        *at.number_input,
        *at.selectbox,
        *at.slider,
        *at.select_slider,
        *at.toggle,
    ]
    assert {widget.key.removeprefix(PREFIX) for widget in widgets if widget.key} == OFFERED | rows | {exactly(at).key}
    assert {"delta drag", "eps drag"} <= set(plots(at))
    line = "δ = 10, τ = 2, ε = {}, dense layer, SGD"
    assert line.format(0) not in [each.value for each in at.caption]
    assert line.format(0.5) in [each.value for each in open_table(eps="0.5", **SMALL).caption]


def test_losses_that_learn_differently_are_seen_to_part_in_the_first_view():
    setting = build_table_setting({name: getattr(Page(), name) for name in get_declarations(Setting)})
    results = TableResultCache()
    schemes = [SCHEMES[key] for key in FIRST_ROWS]
    results.compute_missing(schemes, setting)
    parted = 0
    for cell in build_cells(schemes, setting, results):
        losses = results.get_losses(SCHEMES[cell.scheme], setting)
        shown = build_loss_plot(losses[:, [0, find_network_index(TRANSFORMATIONS[cell.transformation])]], setting)
        assert is_visible(shown) == (not cell.predicted), cell
        gap = np.abs(shown["second"] - shown["first"]).max() / shown["high"]
        assert gap > 0.115 or cell.predicted, cell
        parted += not cell.predicted
    assert parted == 14


def test_without_the_factor_the_rescaled_weights_learn_differently():
    at = open_table(follow="0", reveal="1", cell="batch.weight-matrix-rescaling", **SMALL)
    words = words_of(at)
    assert words["batch.weight-matrix-rescaling"] == words["weight.weight-vector-rescaling"] == ANSWER_LABELS["no"]
    assert words["batch.dataset-rescaling"] == ANSWER_LABELS["yes"]
    assert "The outputs of batch norm are **invariant**" in said(at)
    assert "Their learning rate stays the same." in said(at)
    assert not any(cell["alert"] for cell in cells_of(at).values())


def test_a_factor_of_1_has_a_state_of_its_own():
    at = open_table(delta="1", reveal="1", cell="batch.dataset-rescaling", **SMALL)
    for key, cell in cells_of(at).items():
        unchanged = TRANSFORMATIONS[key.partition(".")[2]].factor is not None
        assert (cell["answer"] == "none") == unchanged, key
        assert not cell["alert"]
    assert "δ = 1 changes nothing. So nothing can be told." in said(at)
    assert not at.warning


def test_epsilon_fades_the_rescalings_only():
    words = words_of(open_table(eps="0.1", reveal="1", **SMALL))
    assert words["batch.dataset-rescaling"] == ANSWER_LABELS["fades"]
    assert words["batch.dataset-recentering"] == ANSWER_LABELS["yes"]
    assert words["weight.weight-matrix-rescaling"] == ANSWER_LABELS["yes"]


@pytest.mark.parametrize("panel", PANELS)
def test_every_panel_opens_by_its_link(panel):
    at = open_table(panel=panel, schemes="batch", **SMALL)
    assert at.session_state[PREFIX + "panel"] == panel
    assert [code.value.count("import torch") for code in at.code] == [1] * (panel == "script")
    assert ("sweep" in plots(at)) == (panel in ("eps", "training", "delta"))
    assert len(at.table) == (panel == "numbers")
    covered = {cell["covered"] for cell in cells_of(at).values()}
    assert covered == ({True} if panel == "changed" else {True, False} if panel == "script" else {False})


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_told_and_the_other_answers_stay():
    at = open_table(device="cuda", seed="5", reveal="1", **SMALL)
    assert "there is no cuda device here" in at.error[0].value
    for _ in range(100):  # the forward passes go on beside the error
        if "**= One forward pass.**" in said(at):
            break
        at = sound(at.run())
    assert "**= One forward pass.** The outputs x̂ are equal up to rounding." in said(at)
    assert "**– Training.** Not trained yet." in said(at)
    assert "there is no cuda device here" in at.error[0].value
    assert not set_value(at, "device", "cpu").error


def test_a_disagreement_stands_out():
    (cell, *_) = measure_cells([get_scheme("batch")], Setting(steps=2, batch=8, width=8))
    wrong = replace(cell, predicted=False)
    data = build_cell_data(wrong, SCHEMES["batch"], Setting(), covered=False)
    assert data["alert"]
    assert data["word"] == "disagree"


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_every_scheme_has_a_row_without_a_disagreement(layer):
    at = open_table(schemes=",".join(SCHEMES), layer=layer, reveal="1", **SMALL)
    cells = cells_of(at)
    assert len(cells) == len(SCHEMES) * len(TRANSFORMATIONS)
    assert [key for key, cell in cells.items() if cell["alert"]] == []
    degenerate = {key.partition(".")[0] for key, cell in cells.items() if cell["answer"] == "none"}
    assert degenerate == ({"instance", "layer-spatial", "filter-response"} if layer == "dense" else set())


def test_a_setting_retrains_what_it_affects(trained):
    at = open_table(seed="77", **SMALL)
    assert trained == [([*FIRST_ROWS], len(NETWORKS))]
    trained.clear()
    before = cells_of(at)
    at = set_value(at, "delta", 5.0)
    assert trained == [([*FIRST_ROWS], 6)]
    assert exactly(at).value == 5.0
    after = cells_of(at)
    moved = {key.partition(".")[2] for key in before if before[key] != after[key]}
    assert moved == {change.key for change in TRANSFORMATIONS.values() if change.factor is not None}
    trained.clear()
    at = set_value(at, "eps", 1e-3)
    assert trained == [(["batch", "layer"], len(NETWORKS))]
    trained.clear()
    for name, value in (("follow", False), ("cell", "layer.case-rescaling"), ("steps", 3), ("reveal", True)):
        at = set_value(at, name, value)
    assert trained == []


def test_a_delta_stays_although_a_busy_browser_still_sends_the_one_of_before():
    at = open_table(**SMALL)
    before, shown = at._tree, exactly(at)
    at = set_value(at, "delta", 5.0)
    at._tree = before  # what the browser shows, and sends along with everything
    at = settled(sound(shown.set_value(3.0).run()))
    assert (at.session_state[PREFIX + "delta"], exactly(at).value) == (5.0, 5.0)
    field = exactly(at).key
    at = settled(sound(exactly(at).set_value(3.0).run()))
    assert (at.session_state[PREFIX + "delta"], exactly(at).value) == (3.0, 3.0)
    assert exactly(at).key == field  # typing goes on in the same field


def test_a_gap_over_epsilon_says_where_nothing_is_changed():
    at = open_table(delta="1", panel="eps", schemes="batch", **SMALL)
    data = traces(at, "sweep")
    empty = [np.isnan(np.asarray(trace["y"])).all() for trace in data]
    assert empty == [change.factor is not None for change in TRANSFORMATIONS.values()]
    assert any(each.value.startswith(f"{UNCHANGED_TEXT}, so re-scalings have no gap") for each in at.caption)


def test_the_page_says_what_half_precision_breaks():
    at = open_table(dtype="float16", eps="1e-8", cell="batch.dataset-rescaling", reveal="1", **SMALL)
    assert any("is 0 in float16" in warning.value for warning in at.warning)
    at = open_table(dtype="float16", delta="1000", cell="batch.dataset-rescaling", reveal="1", **SMALL)
    assert any("its square is beyond 65,504" in warning.value for warning in at.warning)


def test_a_custom_row_is_named_when_it_is_known():
    at = open_table(schemes="custom", layer="conv", a_n="own", a_h="full", a_w="full", a_c="own", **SMALL)
    (row,) = plots(at)["grid table"]["rows"]
    assert row["note"] in ("= Instance", "= Layer (spatial)")
    at = set_value(at, "a_c", "groups(4)")
    (row,) = plots(at)["grid table"]["rows"]
    assert row["note"] == "= Group, G = 4"
    at = set_value(at, "a_n", "full")
    (row,) = plots(at)["grid table"]["rows"]
    assert row["note"] == "your own"


@pytest.mark.parametrize("change", TRANSFORMATIONS)
def test_what_the_factor_of_the_learning_rate_is_for_is_said_where_it_stands(change):
    at = open_table(cell=f"batch.{change}", reveal="1", **SMALL)
    explained = any(RATE_EXPLANATION in each.value for each in at.caption)
    assert explained == (TRANSFORMATIONS[change].weight_factor is not None)


@pytest.mark.parametrize(("delta", "word"), [("-2", "δ = −2"), ("0", "δ = 0")])
def test_a_delta_that_is_not_positive_is_explained_and_nothing_is_lost(delta, word):
    at = open_table(delta=delta, eps="0.5", schemes="group,rms", **SMALL)
    assert word in at.error[0].value
    assert "δ > 0" in at.error[0].value.replace("\\", "")
    at = settled(sound(exactly(at).set_value(2.0).run()))
    assert not at.error
    assert at.session_state[PREFIX + "eps"] == 0.5
    assert {key.partition(".")[0] for key in cells_of(at)} == {"group", "rms"}


def test_a_bad_link_is_mended_with_a_note():
    at = open_now(steps="1000000", schemes="batch,grop", optimizer="addam", batch="8", width="8")
    assert {
        "Steps: 1000000 is too large; 2000 is used.",
        "Rows: batch,grop is not one of the choices; Batch, Group is used.",
        "Optimizer: addam is not one of the choices; Adam is used.",
    } <= set(replaced(at))
    assert at.session_state[PREFIX + "optimizer"] == "adam"


def test_groups_that_do_not_divide_are_mended_to_those_that_do():
    at = open_table(schemes="group", groups="7", **SMALL)
    assert at.session_state[PREFIX + "groups"] == 8
    assert not at.error


def test_fields_that_do_not_fit_a_deeper_layer_are_told():
    at = open_table(schemes="custom", layer="conv", depth="2", a_h="groups(3)", **SMALL)
    assert "3 groups do not divide H = 4" in at.error[0].value


def test_no_rows_is_an_empty_page_that_says_what_to_do():
    at = open_table(schemes="")
    assert "Add a normalization" in at.info[0].value


def test_training_that_does_not_stay_finite_is_explained():
    at = open_table(schemes="none", rate="1e6", cell="none.dataset-rescaling", batch="8", width="8", reveal="1")
    warnings = texts(at.warning)
    assert any("The network stopped being finite at step" in text for text in warnings)
    assert any("The twin stopped being finite at step" in text for text in warnings)
    assert any("overflowed float64" in text and "smaller learning rate than 10⁶" in text for text in warnings)
    assert plots(at)["curves twins"]["alt"].endswith("largest gap of the losses ∞.")


@pytest.mark.parametrize("panel", ["eps", "training"])
def test_gaps_over_epsilon(panel):
    at = open_table(panel=panel, schemes="batch", **SMALL)
    rescaling, recentring = (traces(at, "sweep")[column]["y"] for column in (0, 4))
    assert np.isfinite(rescaling).all()
    assert rescaling[0] < 1e-9 < 1e-2 < rescaling[-1]
    assert recentring.max() < 1e-9


def test_a_gap_over_epsilon_may_fall_again_as_the_caption_says():
    settings = [Setting(delta=0.1, eps=eps, batch=8, width=8) for eps in (0.1, 10.0)]
    less, more = (measure_forward_gaps([SCHEMES["layer"]], each)[0] for each in settings)
    place = find_network_index(TRANSFORMATIONS["case-rescaling"])
    assert more[place] < less[place] - 0.1
    at = open_now(panel="eps", schemes="layer,weight,dynamic-tanh", delta="0.1", **SMALL)
    (told,) = (each.value for each in at.caption if "under the root" in each.value)
    assert "it can fall again where other outputs become the largest" in told
    labels = {key: SCHEMES[key].label for key in ("weight", "dynamic-tanh", "layer")}
    assert f"ε does nothing to {labels['weight']} and {labels['dynamic-tanh']}." in told


def test_gaps_over_delta():
    curves = traces(open_table(panel="delta", schemes="batch", **SMALL), "sweep")[:4]
    largest = {trace["name"]: np.nanmax(trace["y"]) for trace in curves}
    assert largest["float64"] < 1e-12 < largest["float32"] < 1e-5 < largest["float16"] < largest["bfloat16"] < 0.1


def test_the_formula_of_two_schemes_has_the_lines_of_both():
    shown = [each.value.strip("$\n") for each in open_table(schemes="layer-weight", reveal="1", **SMALL).latex]
    for key in ("weight", "layer-weight"):
        assert {line.latex for line in build_formulas(SCHEMES[key]) if line.name == "normalized"} <= set(shown)


def test_what_is_said_of_epsilon_and_shifts():
    at = open_table(panel="eps", schemes="rms", **SMALL)
    (caption,) = (each.value for each in at.caption if each.value.startswith("ε is added"))
    assert "A shift that the mean cancels stays cancelled at every ε" in caption
    assert "A scheme without a mean, such as RMS norm, cancels no shift at any ε" in caption


@settings(max_examples=15)
@given(
    st.dictionaries(
        st.sampled_from([param.name for param in PARAMS if param.name not in ("steps", "width", "batch", "depth")]),
        st.sampled_from(["", "nan", "inf", "-1", "0", "1", "x", "conv", "adam", "float16", "own", "full", "batch.x"]),
        max_size=4,
    )
)
def test_whatever_the_link_the_page_shows_the_grid_or_says_why_not(link):
    at = open_table(**(link | SMALL))
    schemes = at.session_state["table schemes"]
    if at.error or not schemes:
        assert len(at.error) + len(at.info) > 0
    else:
        assert cells_of(at).keys() == {f"{scheme}.{key}" for scheme in schemes for key in TRANSFORMATIONS}


@pytest.mark.parametrize(
    ("gap", "text"),
    [
        (float("nan"), ""),
        (float("inf"), "∞"),
        (0.0, "0"),
        (2.2e-16, "2·10⁻¹⁶"),
        (0.389, "0.39"),
        (12.3, "12"),
        (99.7, "100"),
        (5e5, "5·10⁵"),
    ],
)
def test_gaps_in_a_few_characters(gap, text):
    assert format_gap(gap) == text


@pytest.mark.parametrize("key", ["batch", "weight", "spectral", "layer-weight"])
def test_sums_change_as_it_is_said_only_where_their_weights_are_as_they_were(key):
    shown = {
        change: any(
            "Rightarrow" in each.value
            for each in open_now(schemes=key, cell=f"{key}.{change}", reveal="1", **SMALL).latex
        )
        for change in ("weight-vector-rescaling", "dataset-rescaling")
    }
    assert shown == {"weight-vector-rescaling": SCHEMES[key].weight_part is None, "dataset-rescaling": True}
