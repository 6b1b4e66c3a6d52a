"""The Table 1 page as a user meets it, run by Streamlit without a browser."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from lab_page import plots, replaced, sound, texts, traces
from pairs import each_value
from table_page import SMALL, cells_of, open_now, open_table, settled

from normviz.core.schemes import SCHEMES, get_scheme
from normviz.core.transformations import PAPER, TRANSFORMATIONS
from normviz.describe.notation import formulas
from normviz.describe.wording import gap_text
from normviz.networks import twins
from normviz.networks.problem import NETWORKS, position
from normviz.networks.setting import Setting
from normviz.table1.forward import forward_gaps
from normviz.table1.grid import UNCHANGED, WORDS, cell_data, key_of
from normviz.table1.state import ONE_CELL, PANELS, PARAMS, PREFIX, WHY_RATE
from normviz.table1.table import measure
from normviz.ui.choice import state_of
from normviz.ui.custom import KEYS

OFFERED = {param.name for param in PARAMS} - {*KEYS, "schemes", "cell", "cover", "groups", "radius", "delta", "eps"}


def set_value(at, name, value):
    at.session_state[PREFIX + name] = value
    return settled(sound(at.run()))


def exactly(at):
    """The field for δ as a number."""
    return next(widget for widget in at.number_input if widget.label == "δ exactly")


@pytest.fixture
def trained(monkeypatch):
    """What has been handed to the training since, as (schemes, networks)."""
    calls, real = [], twins.training

    def spy(schemes, setting, networks):
        calls.append(([scheme.key for scheme in schemes], len(networks)))
        return real(schemes, setting, networks)

    monkeypatch.setattr(twins, "training", spy)
    return calls


def test_the_first_view_is_the_papers_table():
    at = open_table()
    cells = cells_of(at)
    expected = measure([SCHEMES[key] for key in PAPER], Setting())
    assert list(cells) == [key_of(cell) for cell in expected]
    for cell in expected:
        shown = cells[key_of(cell)]
        assert shown == cell_data(cell, SCHEMES[cell.scheme], covered=False)
        assert shown["word"] == WORDS["yes" if cell.paper else "no"]
        assert shown["paper"]
        assert not shown["alert"]
        assert [mark["answer"] for mark in shown["marks"]] == ["yes" if cell.paper else "no"] * 3
    assert "Trained on the CPU." in at.caption[0].value or torch.cuda.is_available()


def test_every_control_is_offered():
    at = open_table(**SMALL)
    rows = {state_of("schemes", part) for part in ("common", "more")}
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


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_every_scheme_has_a_row_without_a_disagreement(layer):
    at = open_table(schemes=",".join(SCHEMES), layer=layer, **SMALL)
    cells = cells_of(at)
    assert len(cells) == len(SCHEMES) * len(TRANSFORMATIONS)
    assert [key for key, cell in cells.items() if cell["alert"]] == []
    degenerate = {key.partition(".")[0] for key, cell in cells.items() if cell["word"] == "degenerate"}
    assert degenerate == ({"instance", "layer-spatial", "filter-response"} if layer == "dense" else set())


@pytest.mark.parametrize(("key", "change"), each_value(SCHEMES, TRANSFORMATIONS))
def test_every_cell_opens(key, change):
    at = open_table(schemes=key, cell=f"{key}.{change}", **SMALL)
    assert f"{SCHEMES[key].name}: {TRANSFORMATIONS[change].name}".lower() in " ".join(texts(at.markdown)).lower()
    assert {"curves", "changed"} <= set(plots(at))
    assert len(at.table[0].value) == (3 if TRANSFORMATIONS[change].weight_factor is not None else 2)


def test_a_setting_retrains_what_it_affects(trained):
    at = open_table(seed="77", **SMALL)
    assert trained == [(["batch", "weight", "layer"], len(NETWORKS))]
    trained.clear()
    before = cells_of(at)
    at = set_value(at, "delta", 5.0)
    assert trained == [(["batch", "weight", "layer"], 6)]
    assert exactly(at).value == 5.0
    after = cells_of(at)
    moved = {key.partition(".")[2] for key in before if before[key] != after[key]}
    assert moved == {change.key for change in TRANSFORMATIONS.values() if change.factor is not None}
    trained.clear()
    at = set_value(at, "eps", 1e-3)
    assert trained == [(["batch", "layer"], len(NETWORKS))]
    trained.clear()
    for name, value in (("follow", False), ("cell", "layer.case-rescaling"), ("steps", 3), ("cover", True)):
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


def test_without_the_factor_the_rescaled_weights_part():
    at = open_table(follow="0", **SMALL)
    words = {key: cell["word"] for key, cell in cells_of(at).items()}
    assert words["batch.weight-matrix-rescaling"] == words["weight.weight-vector-rescaling"] == "forward only"
    assert words["layer.weight-vector-rescaling"] == WORDS["no"]
    assert not any(cell["alert"] for cell in cells_of(at).values())


def test_a_factor_of_1_has_a_state_of_its_own():
    at = open_table(delta="1", cell="batch.dataset-rescaling", **SMALL)
    cells = cells_of(at)
    assert not any(cell["alert"] for cell in cells.values())
    for key, cell in cells.items():
        unchanged = TRANSFORMATIONS[key.partition(".")[2]].factor is not None
        assert (cell["word"] == UNCHANGED) == unchanged, key
        assert ({mark["answer"] for mark in cell["marks"]} == {"none"}) == unchanged, key
    assert any("**δ = 1 changes nothing.** So nothing can be told." in text for text in texts(at.markdown))
    assert not at.warning


def test_a_gap_over_epsilon_says_where_nothing_is_changed():
    at = open_table(delta="1", panel="eps", schemes="batch", **SMALL)
    data = traces(at, "sweep")
    empty = [np.isnan(np.asarray(trace["y"])).all() for trace in data]
    assert empty == [change.factor is not None for change in TRANSFORMATIONS.values()]
    assert any(each.value.startswith(f"{UNCHANGED}, so re-scalings have no gap") for each in at.caption)


def test_the_page_says_what_half_precision_breaks():
    at = open_table(dtype="float16", eps="1e-8", cell="batch.dataset-rescaling", **SMALL)
    assert any("is 0 in float16" in warning.value for warning in at.warning)
    at = open_table(dtype="float16", delta="1000", cell="batch.dataset-rescaling", **SMALL)
    assert any("its square is beyond 65,504" in warning.value for warning in at.warning)


@pytest.mark.parametrize(("vote", "right"), [("Fades with ε", True), ("Invariant", False), ("Not invariant", False)])
def test_a_class_may_say_that_a_cell_fades(vote, right):
    at = open_table(eps="0.1", cover="1", cell="batch.dataset-rescaling", **SMALL)
    at = sound(at.button(key=f"vote {vote}").click().run())
    assert any(f"**{int(right)} of 1 predicted right**" in text for text in texts(at.markdown))
    told = at.success if right else at.error
    assert vote.lower() in told[0].value.lower()


def test_fading_is_offered_only_where_something_can_fade():
    keys = {button.key for button in open_table(cover="1", **SMALL).button}
    assert "vote Invariant" in keys
    assert "vote Fades with ε" not in keys


def test_a_vote_on_what_says_nothing_is_not_counted_but_answered():
    at = open_table(delta="1", cover="1", cell="batch.dataset-rescaling", **SMALL)
    at = sound(at.button(key="vote Invariant").click().run())
    assert any("**0 of 0 predicted right**" in text for text in texts(at.markdown))
    assert "δ = 1 changes nothing: the vote does not count" in at.info[0].value


def test_epsilon_fades_the_rescalings_only():
    at = open_table(eps="0.1", **SMALL)
    cells = cells_of(at)
    assert cells["batch.dataset-rescaling"]["word"] == WORDS["fades"]
    assert cells["batch.dataset-recentering"]["word"] == WORDS["yes"]
    assert cells["weight.weight-matrix-rescaling"]["word"] == WORDS["yes"]


def test_a_cell_that_the_paper_sees_otherwise_says_so():
    cells = cells_of(open_table(layer="conv", **SMALL))
    assert cells["layer.weight-matrix-recentering"]["note"] == "paper: invariant"
    assert cells["layer.dataset-rescaling"]["note"] == ""


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


def test_predict_then_reveal():
    at = open_table(cover="1", **SMALL)
    assert all(cell["covered"] for cell in cells_of(at).values())
    assert set(plots(at)) == {"grid table", "changed", "delta drag", "eps drag"}
    at = sound(at.button(key="vote Invariant").click().run())
    assert "0 covered" not in at.markdown[1].value
    assert any("**1 of 1 predicted right**, 17 still covered" in text for text in texts(at.markdown))
    assert [box.value for box in at.success] == ["The class said: invariant. Right."]
    at = set_value(at, "cell", "batch.case-rescaling")
    at = sound(at.button(key="vote Invariant").click().run())
    assert any("**1 of 2 predicted right**, 16 still covered" in text for text in texts(at.markdown))
    assert "It is not invariant" in at.error[0].value
    at = set_value(at, "cell", "layer.case-rescaling")
    at = sound(at.button(key="vote Reveal").click().run())
    assert any("**1 of 2 predicted right**, 15 still covered" in text for text in texts(at.markdown))
    (everything,) = (button for button in at.button if button.label == "Reveal all")
    at = sound(everything.click().run())
    assert not any(cell["covered"] for cell in cells_of(at).values())
    assert any("**1 of 2 predicted right**, 0 still covered" in text for text in texts(at.markdown))
    (again,) = (button for button in at.button if button.label == "Cover all again")
    at = sound(again.click().run())
    assert all(cell["covered"] for cell in cells_of(at).values())


def test_predicting_first_is_the_way_in_and_leads_from_cell_to_cell():
    at = open_table(**SMALL)
    (way_in,) = (button for button in at.button if button.label == "Predict first")
    at = sound(way_in.click().run())
    assert all(cell["covered"] for cell in cells_of(at).values())
    at = sound(at.button(key="vote Invariant").click().run())
    (on,) = (button for button in at.button if button.label == "Next cell")
    at = sound(on.click().run())
    assert at.session_state[PREFIX + "cell"] == "batch.weight-matrix-recentering"
    (out,) = (button for button in at.button if button.label == "Stop predicting")
    at = sound(out.click().run())
    assert not any(cell["covered"] for cell in cells_of(at).values())


@pytest.mark.parametrize("change", TRANSFORMATIONS)
def test_what_the_factor_of_the_learning_rate_is_for_is_said_where_it_stands(change):
    at = open_table(cell=f"batch.{change}", **SMALL)
    said = any(each.value == WHY_RATE for each in at.caption)
    assert said == (TRANSFORMATIONS[change].weight_factor is not None)


def test_a_covered_answer_is_nowhere_in_what_is_sent():
    at = open_table(cover="1", **SMALL)
    assert set(cells_of(at)["batch.case-rescaling"]) == {"key", "title", "covered", "paper"}


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
    assert "Choose rows" in at.info[0].value


def test_training_that_does_not_stay_finite_is_explained():
    at = open_table(schemes="none", rate="1e6", cell="none.dataset-rescaling", batch="8", width="8")
    warnings = texts(at.warning)
    assert any("The original stopped being finite at step" in text for text in warnings)
    assert any("The transformed network stopped being finite at step" in text for text in warnings)
    assert any("overflowed float64" in text and "smaller learning rate than 10⁶" in text for text in warnings)
    assert plots(at)["curves"]["alt"].endswith("largest gap ∞.")


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a CUDA device here")
def test_a_device_that_is_not_there_is_told_and_the_other_answers_stay():
    at = open_table(device="cuda", seed="5", **SMALL)
    assert "there is no cuda device here" in at.error[0].value
    for _ in range(100):  # the forward passes go on beside the error
        answers = [mark["answer"] for mark in cells_of(at)["batch.dataset-rescaling"]["marks"]]
        if answers == ["yes", "yes", "wait"]:
            break
        at = sound(at.run())
    assert answers == ["yes", "yes", "wait"]
    at = sound(at.run())
    assert "there is no cuda device here" in at.error[0].value
    assert not set_value(at, "device", "cpu").error


@pytest.mark.parametrize(("panel", "cover"), each_value(PANELS, ["0", "1"]))
def test_every_panel(panel, cover):
    at = open_table(panel=panel, schemes="batch", cover=cover, **SMALL)
    if cover == "1":
        at = sound(at.button(key="vote Reveal").click().run())
    shown = at.session_state[PREFIX + "panel"]
    assert shown == (panel if cover == "0" or panel in ONE_CELL else "changed")
    assert ("changed" in plots(at)) == (shown == "changed")
    assert [code.value.count("import torch") for code in at.code] == [1] * (shown == "script")
    assert ("sweep" in plots(at)) == (shown not in ONE_CELL)


@pytest.mark.parametrize("panel", ["eps", "training"])
def test_gaps_over_epsilon(panel):
    at = open_table(panel=panel, schemes="batch", **SMALL)
    rescaling, recentring = (traces(at, "sweep")[column]["y"] for column in (0, 4))
    assert np.isfinite(rescaling).all()
    assert rescaling[0] < 1e-9 < 1e-2 < rescaling[-1]
    assert recentring.max() < 1e-9


def test_a_gap_over_epsilon_may_fall_again_as_the_caption_says():
    settings = [Setting(delta=0.1, eps=eps, batch=8, width=8) for eps in (0.1, 10.0)]
    less, more = (forward_gaps([SCHEMES["layer"]], each)[0] for each in settings)
    place = position(TRANSFORMATIONS["case-rescaling"])
    assert more[place] < less[place] - 0.1
    at = open_now(panel="eps", schemes="layer,weight,dynamic-tanh", delta="0.1", **SMALL)
    (told,) = (each.value for each in at.caption if "under the root" in each.value)
    assert "the gap, that of the largest outputs, may fall again" in told
    labels = {key: SCHEMES[key].label for key in ("weight", "dynamic-tanh", "layer")}
    assert f"ε does nothing to {labels['weight']} and {labels['dynamic-tanh']}." in told


def test_the_question_is_of_invariance_whatever_the_learning_rate_does():
    at = open_table(follow="0", schemes="layer", **SMALL)
    asked = next(text for text in texts(at.markdown) if "Would you have known" in text)
    assert "invariant" in asked
    assert "stay together" not in asked


def test_gaps_over_delta():
    curves = traces(open_table(panel="delta", schemes="batch", **SMALL), "sweep")[:4]
    largest = {trace["name"]: np.nanmax(trace["y"]) for trace in curves}
    assert largest["float64"] < 1e-12 < largest["float32"] < 1e-5 < largest["float16"] < largest["bfloat16"] < 0.1


def test_the_formula_of_two_schemes_has_the_lines_of_both():
    shown = [each.value.strip("$\n") for each in open_table(schemes="layer-weight", **SMALL).latex]
    for key in ("weight", "layer-weight"):
        assert {line.latex for line in formulas(SCHEMES[key]) if line.name == "normalized"} <= set(shown)


def test_what_is_said_of_epsilon_and_shifts():
    at = open_table(panel="eps", schemes="rms", **SMALL)
    (caption,) = (each.value for each in at.caption if each.value.startswith("ε stands"))
    assert "taken off with the mean is gone before ε is added, and stays exact" in caption
    assert "where nothing is centred, as in RMS, it comes through at every ε" in caption


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
    assert gap_text(gap) == text


def test_a_disagreement_stands_out():
    (cell, *_) = measure([get_scheme("batch")], Setting(steps=2, batch=8, width=8))
    wrong = type(cell)(**(vars(cell) | {"predicted": False}))
    data = cell_data(wrong, SCHEMES["batch"], covered=False)
    assert data["alert"]
    assert data["word"] == "disagree"


@pytest.mark.parametrize("key", ["batch", "weight", "spectral", "layer-weight"])
def test_sums_change_as_it_is_said_only_where_their_weights_are_as_they_were(key):
    shown = {
        change: any("Rightarrow" in each.value for each in open_now(schemes=key, cell=f"{key}.{change}", **SMALL).latex)
        for change in ("weight-vector-rescaling", "dataset-rescaling")
    }
    assert shown == {"weight-vector-rescaling": SCHEMES[key].on_weights is None, "dataset-rescaling": True}
