"""The page on gradients as a user meets it, run by Streamlit without a browser."""

import io
import re

import numpy as np
import pytest
from lab_page import ROOT, latex, open_lab, plots, replaced, said, sound, texts
from pairs import each_value
from streamlit.testing.v1 import AppTest

from normviz.charts.palette import THEMES
from normviz.core.backward import compute_gradients
from normviz.core.layouts import LAYOUTS, parse_layout
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.describe.backward import build_backward_formulas
from normviz.topics.gradients import answers
from normviz.topics.gradients.chain import LAST_STEP, PATHS, STEPS
from normviz.topics.gradients.chain_figures import get_path_colours
from normviz.topics.gradients.exercise import SCHEMES as HOMEWORK
from normviz.topics.gradients.exercise import pack_npz
from normviz.topics.gradients.mistakes import MISTAKES
from normviz.topics.gradients.panels.answer import describe_verdict
from normviz.topics.gradients.panels.graph import STEP_HEADINGS
from normviz.topics.gradients.state import BELONGS, PARAMS, PREFIX, SHOWN, build_exercise, is_relevant
from normviz.ui.link import clean_values

SCRIPT = "pages/gradients.py"
FIGURES = {
    "graph": {"chain"},
    "formula": {"incoming", "outgoing"},
    "jacobian": {"jacobian"},
    "answer": set(),
}


def open_page(**link):
    return open_lab(SCRIPT, **link)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("show", SHOWN)
def test_every_view(show, theme):
    at = open_lab(SCRIPT, theme, show=show)
    assert set(plots(at)) == FIGURES[show]
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values())
    assert all(plot["figure"]["layout"]["font"]["color"] == THEMES[theme].ink for plot in plots(at).values())
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)


@pytest.mark.parametrize("show", SHOWN)
def test_every_value_that_belongs_has_a_control(show):
    at = open_page(show=show, scheme="divisive")
    widgets = [
        *at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.toggle, *at.selectbox, *at.text_input,
    ]  # fmt: skip
    offered = {widget.key.removeprefix(PREFIX) for widget in widgets}
    view = clean_values(PARAMS, {"show": show, "scheme": "divisive"})[0]
    expected = {param.name for param in PARAMS if is_relevant(view, param.name)} - {"scheme", "back"}
    assert expected <= offered


def test_every_value_belongs_somewhere():
    assert set(BELONGS) < {param.name for param in PARAMS}
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())


# --- the formula --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", SCHEMES)
def test_the_formula_is_that_of_the_scheme(key):
    found = latex(open_page(show="formula", scheme=key))
    wanted = [line.latex for line in build_backward_formulas(SCHEMES[key]) if not line.name.endswith("where")]
    assert sorted(found) == sorted(wanted)


@pytest.mark.parametrize("eps", ["0", "1000"])
@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 1, 1, 2), (4, 3, 3, 4)])
@pytest.mark.parametrize("key", ["none", "batch", "rms", "divisive", "weight", "spectral", "custom"])
def test_extremes(key, sizes, eps):
    at = open_page(show="formula", scheme=key, eps=eps, **dict(zip("nhwc", map(str, sizes), strict=True)))
    assert (len(at.error), set(plots(at))) == (0, FIGURES["formula"])
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan|NaN)\b", said(at))
    centred, scaled = SCHEMES[key].summation is not None, SCHEMES[key].suppression is not None
    total, along = at.table[0].value["∂L/∂x"]
    assert (total in ("0", "0 to rounding")) or not centred
    assert along in ("0", "0 to rounding") or not scaled or float(eps) > 0


def test_autograd_is_asked_only_where_it_is_wanted():
    assert "autograd" not in " ".join(open_page(show="formula").table[1].value.columns)
    at = open_page(show="formula", torch="1")
    (column,) = (name for name in at.table[1].value.columns if "autograd" in name)
    assert at.table[1].value[column][3] == "–"


def test_groups_that_cannot_be_are_told():
    at = open_page(show="formula", scheme="group", groups="2")
    assert replaced(at) == ["Groups G: 2 does not divide C = 3; 1 is used."]


# --- step by step -------------------------------------------------------------------------------------------------


def test_the_page_opens_on_the_forward_pass():
    at = open_page()
    assert "Forward: three paths from x to x̂" in said(at)
    assert str(plots(at)["chain"]["figure"]).count("∂L/∂") == 1  # the gradient that the loss gives
    assert at.query_params == {}


@pytest.mark.parametrize(
    ("link", "show", "back"),
    [({"scheme": "rms"}, "formula", 0), ({"n": "3"}, "formula", 0), ({"show": "graph"}, "graph", 0),
     ({"show": "graph", "step": "3"}, "graph", 0), ({"step": "12", "element": "1", "gain": "3"}, "graph", 4),
     ({"step": "14"}, "graph", LAST_STEP), ({"x": "1, 5"}, "graph", 0), ({"back": "2"}, "graph", 2)],
)  # fmt: skip
def test_a_link_of_before_opens_what_is_nearest(link, show, back):
    at = open_page(**link)
    assert (at.session_state[PREFIX + "show"], at.session_state[PREFIX + "back"]) == (show, back)
    assert replaced(at) == []


def test_the_former_scale_of_w_leads_to_table_1():
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page(SCRIPT)
    at.query_params.update(show="scale", scheme="layer", a="10", eps="0", n="3")
    sound(at.run())
    assert at.query_params["schemes"] == "layer"
    assert (at.session_state["table delta"], at.session_state["table eps"]) == (10, 0)
    assert at.session_state["table cell"] == "layer.weight-matrix-rescaling"


@pytest.mark.parametrize("step", range(LAST_STEP + 1))
def test_every_step_says_what_it_adds(step):
    at = open_page(back=str(step))
    assert STEP_HEADINGS[STEPS[step]] in said(at)
    boxes = [each["text"] for each in plots(at)["chain"]["figure"]["layout"]["annotations"] if each["text"]]
    assert sum("∂L/∂" in text for text in boxes) == max(step, 1)  # the first is given
    assert len(at.table) == (STEPS[step] in ("droot", "dv", "dmean", "dx"))


def test_rms_norm_has_no_path_through_the_mean():
    at = open_page(back=str(LAST_STEP), centred="0")
    assert "The two paths **add up**. All ∂L/∂x sum to" in said(at)
    assert "②" not in str(plots(at)["chain"]["figure"]["layout"]["annotations"])
    assert [name[0] for name in at.table[0].value.iloc[:2, 0]] == ["①", "③"]


def test_the_last_step_says_what_the_mean_gives_back():
    at = open_page(back=str(LAST_STEP))
    assert "The mean received −0.408" in said(at)
    assert "all 4 elements get −0.102 back" in said(at)
    rows = at.table[0].value
    assert [name[0] for name in rows.iloc[:3, 0]] == [name[0] for name in PATHS]
    assert list(rows.iloc[:, 1]) == ["0.816", "−0.102", "−0.476", "0.238"]
    (shown,) = latex(at)
    assert all(colour in shown for colour in get_path_colours(THEMES["light"]))


def test_a_marked_row_ends_the_table_with_the_sum_so_far():
    link = {"x": "3, 1, -1", "dy": "1, 3, 0", "back": str(LAST_STEP)}
    rows = open_page(row="2", **link).table[0].value
    assert [name[:1] for name in rows.iloc[:2, 0]] == ["①", "②"]
    assert list(rows.iloc[2]) == ["**① + ②**", "−0.204", "1.02", "−0.816", "**0**"]
    whole, last = (open_page(row=row, **link).table[0].value for row in ("0", "3"))
    assert whole.equals(last)


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ("1;2 3", "1, 2, 3"),
        ("5", "1, 2, 4, 1"),
        ("", "1, 2, 4, 1"),
        ("nan,1", "1, 2, 4, 1"),
        ("1e9,-1e9", "1000, -1000"),
        ("1,2,3,4,5,6,7,8", "1, 2, 3, 4"),
        ("1e-9,0", "0, 0"),
        ("x" * 9999, "1, 2, 4, 1"),
    ],
)
def test_numbers_of_a_link_are_bounded(given, taken):
    at = open_page(x=given, back=str(LAST_STEP))
    assert at.session_state[PREFIX + "x"] == taken
    assert len(at.session_state[PREFIX + "dy"].split(",")) == len(taken.split(","))


def test_the_same_numbers_spelt_otherwise_need_no_note():
    assert replaced(open_page(show="graph", x="1 2 4 1", dy="1;0;-1;.5")) == []
    assert len(replaced(open_page(show="graph", x="1,2,many"))) == 1


@pytest.mark.parametrize("eps", ["0", "1e-05"])
def test_numbers_that_are_all_alike(eps):
    at = open_page(x="3,3,3", eps=eps)
    assert ("0/0" in said(at)) == (eps == "0")
    at = sound(open_page(x="3,3,3", eps=eps, back=str(LAST_STEP)))
    assert not re.search(r"\b(inf|nan|NaN)\b", said(at))


def test_the_field_is_edited_on_the_page():
    at = open_page()
    at.text_input(key=PREFIX + "x").set_value("1, 5, 9")
    sound(at.run())
    assert "one example with 3 numbers" in said(at)
    assert any("<b>1, 5, 9</b>" in each["text"] for each in plots(at)["chain"]["figure"]["layout"]["annotations"])
    assert len(texts(at.error)) == 0


def test_steps_forward_and_back():
    at = open_page()
    for label, step in (("Step", 1), ("Step", 2), ("Back", 1), ("Rewind", 0)):
        next(button for button in at.button if button.label == label).click()
        sound(at.run())
        assert at.session_state[PREFIX + "back"] == step


# --- the Jacobian -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sizes", [(1, 1, 1, 1), (1, 1, 1, 2), (4, 3, 3, 4)])
@pytest.mark.parametrize("key", ["none", "batch", "rms", "divisive", "spectral"])
def test_every_jacobian_is_drawn_without_error(key, sizes):
    at = open_page(show="jacobian", scheme=key, eps="0", **dict(zip("nhwc", map(str, sizes), strict=True)))
    assert (len(at.error), set(plots(at))) == (0, FIGURES["jacobian"])


def test_one_scheme_with_two_fields_has_no_blocks():
    at = open_page(show="jacobian", scheme="custom", apart="1", a_n="full", b_c="full")
    assert "**Fields overlap, or differ" in said(at)
    assert "**Each of the 3 blocks is a field of 8 elements**" in said(open_page(show="jacobian"))


# --- check your own -----------------------------------------------------------------------------------------------


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npz(**arrays):
    return pack_npz(arrays)


def upload(at, name, content):
    at.file_uploader(key=PREFIX + "upload").set_value((name, content, "application/octet-stream"))
    return sound(at.run())


def right_answer(at):
    """out and dx of the page's task, from the core."""
    task = build_exercise({param.name: at.session_state[param.key] for param in PARAMS})
    given = task.make_inputs()
    x, dout = (parse_layout(task.layout).to_tensor(given[name]) for name in ("x", "dout"))
    gamma, beta = (given[name] for name in ("gamma", "beta"))
    out = normalize(x, task.scheme, task.eps, gamma, beta).y
    dx = compute_gradients(x, dout, task.scheme, task.eps, gamma, beta).dx
    return {"out": parse_layout(task.layout).from_tensor(out), "dx": parse_layout(task.layout).from_tensor(dx)}


def test_right_and_wrong_answers_are_told_and_stay():
    at = open_page(show="answer")
    right = right_answer(at)
    upload(at, "answer.npz", npz(**right))
    assert [text.value.partition(",")[0] for text in at.success] == ["**out is right**", "**dx is right**"]
    upload(at, "out.npy", npy(right["out"] * 0 + 1.5))
    assert [text.value.partition("**,")[0] for text in at.success] == ["**dx is right"]
    assert len(at.warning) == 1
    upload(at, "note.npy", npy(np.ones(3)))
    assert at.error[0].value.endswith("out, dx are still judged.")
    assert (len(at.success), len(at.warning)) == (1, 1)
    next(button for button in at.button if button.label == "Forget the answers").click()
    sound(at.run())
    assert (len(at.success), len(at.warning), len(at.error)) == (0, 0, 0)


def test_the_mistake_is_named_with_what_to_do():
    at = open_page(show="answer")
    task = build_exercise({param.name: at.session_state[param.key] for param in PARAMS})
    given = task.make_inputs()
    x = parse_layout(task.layout).to_tensor(given["x"])
    xhat = (x - x.mean(axis=(0, 1, 2))) / np.sqrt(x.var(axis=(0, 1, 2), ddof=1) + task.eps)
    upload(at, "out.npy", npy(parse_layout(task.layout).from_tensor(given["gamma"] * xhat + given["beta"])))
    row = MISTAKES["sample-variance"]
    assert at.warning[0].value.startswith(f"**out: {row.name}**, off by ")
    assert row.remedy in at.warning[0].value


@pytest.mark.parametrize(("key", "layout", "eps"), each_value(HOMEWORK, LAYOUTS, ["0", "1000"]))
def test_every_task_can_be_set(key, layout, eps):
    at = open_page(show="answer", norm=key, layout=layout.lower(), eps=eps)
    assert (len(at.error), set(plots(at))) == (0, set())
    assert f"**out = γ x̂ + β by {SCHEMES[key].name}" in said(at)
    if eps != "1000":
        return
    upload(at, "out.npy", npy(np.ones(3)))
    assert len(at.warning) == 1
    upload(open_page(show="answer", norm=key, layout=layout.lower(), examples="1"), "dx.npy", npy(1.0))


def test_all_mistakes_are_listed():
    rows = open_page(show="answer").table[0].value
    assert list(rows.iloc[:, 0]) == [row.name for row in MISTAKES.values()]


def test_a_task_asks_only_for_the_lengths_that_its_layout_has():
    for layout, offered in (("nc", set()), ("btc", {"height"}), ("nchw", {"height", "width"})):
        view = clean_values(PARAMS, {"show": "answer", "layout": layout})[0]
        assert {name for name in ("height", "width") if is_relevant(view, name)} == offered
    assert not is_relevant(clean_values(PARAMS, {"show": "answer"})[0], "parts")


@pytest.mark.parametrize(
    ("key", "found"),
    [
        ("batch", "∂L/∂x, γ, β and ε."),
        ("mean-only-batch", "∂L/∂x and β."),
        ("rms", "∂L/∂x, γ and ε."),
        ("pixel", "∂L/∂x and ε."),
        ("none", "∂L/∂x."),
        ("dynamic-erf", "∂L/∂x, γ, β, α and s."),
    ],
)
def test_only_what_there_is_has_a_gradient(key, found):
    assert f"backwards**: from ∂L/∂y to {found}" in said(open_page(show="formula", scheme=key))


def test_two_mistakes_that_are_not_tried_together_are_not_said_to_be_excluded():
    scheme = SCHEMES["layer"]
    inputs = answers.make_inputs(scheme, "NC", (12, 6))
    xhat = normalize(inputs["x"].reshape(12, 1, 1, 6), scheme, float(inputs["eps"])).xhat.reshape(12, 6)
    out = (1 + inputs["gamma"]) * (xhat + inputs["beta"])  # "gamma-plus-one" and "affine-order"
    verdict = answers.judge_answer(scheme, "NC", inputs, {"out": out})["out"]
    assert (verdict.right, verdict.mistake) == (False, None)
    assert "nor do the pairs that are tried" in describe_verdict("out", verdict)
