"""The panel that finds a scheme, run by Streamlit without a browser."""

from urllib.parse import parse_qsl

import numpy as np
import pytest
from lab_page import ROOT, plots, said, sound
from streamlit.testing.v1 import AppTest

from normviz.core.schemes import SCHEMES, same_as
from normviz.core.text import sentence
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe import wording
from normviz.describe.notation import formulas
from normviz.design import state
from normviz.design.panels.answer import MARKS, about, invariance_table, links, registered
from normviz.design.panels.finding import AT_ONCE, BY_NAME, CUBES, LIST, by_name, choose_pictured
from normviz.design.questions import QUESTIONS, answers_words
from normviz.design.reasons import given_up, reason
from normviz.design.search import SHAPES, WEIGHTS, Demands, found, has, invariances, name_of, named, nearest, searched
from normviz.design.state import PREFIX, pick_text, picked

ASKED = [
    {},
    {"dataset-recentering": "need"},
    {"layer": "conv", "case-rescaling": "need", "weight-matrix-recentering": "without"},
    {"layer": "conv", "weights": "any", "weight-vector-rescaling": "need", "conditions": "single,independent"},
    {"weights": "weight"},
    {"weights": "spectral", "conditions": "unequal-lengths"},
    {"conditions": "gain-only", "case-rescaling": "need"},
]
NOTHING = [
    {"dataset-recentering": "need", "case-rescaling": "need"},
    {"layer": "conv", "weights": "any", "weight-matrix-rescaling": "need", "weight-matrix-recentering": "need",
     "case-rescaling": "without", "conditions": "nothing-kept"},
    {"weights": "weight", "weight-matrix-recentering": "need"},
    {"weights": "spectral", "conditions": "nothing-kept"},
    dict.fromkeys(TRANSFORMATIONS, "need") | {"layer": "conv"},
]  # fmt: skip


def open_page(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/design.py")
    at.context["theme"] = "light"
    at.query_params.update(link)
    return sound(at.run())


def asked(link):
    need, without = (tuple(key for key in TRANSFORMATIONS if link.get(key) == each) for each in ("need", "without"))
    front = link.get("weights", "none")
    conditions = tuple(filter(None, link.get("conditions", "").split(",")))
    return Demands(link.get("layer", "dense"), need, without, WEIGHTS if front == "any" else (front,), conditions)


def button(at, words):
    return next(each for each in at.button if each.label.startswith(words))


@pytest.mark.parametrize("link", ASKED)
def test_the_simplest_come_first_and_one_of_them_is_open(link):
    at, demands = open_page(**link), asked(link)
    schemes, layer = found(demands), demands.layer
    (first, absorbed), (options,) = schemes[0], [radio.options for radio in at.radio]
    assert answers_words(demands, schemes) in said(at)
    assert len(options) == min(len(schemes), AT_ONCE)
    assert at.session_state[LIST] == pick_text(first, layer)
    assert about(first, layer) in said(at)
    table = at.table[0].value
    assert list(table["At ε = 0"]) == [MARKS[key in absorbed] for key in TRANSFORMATIONS]
    assert [latex.value.strip("$\n") for latex in at.latex] == [
        line.latex for line in formulas(registered(first, layer)) if line.name != "where"
    ]
    assert "import torch" in at.code[0].value
    copies = plots(at)["cubes"]["hover"]["copies"]
    answers = choose_pictured(demands, schemes, first, False)
    assert [copy["bounds"] is None for copy in copies] == [
        each.on_activations is None or each.field is None for each in answers
    ]
    assert len(copies) == min(len(answers), CUBES)
    pills = next((each for each in at.pills if each.key == BY_NAME), None)
    assert (pills.options if pills else []) == list(by_name(demands).values())
    assert all(any(scheme.label in label for label in by_name(demands).values()) for scheme in named(demands))


@pytest.mark.parametrize("link", NOTHING)
def test_where_there_are_none_the_reason_and_what_gives_up_least(link):
    at, demands = open_page(**link), asked(link)
    why = reason(demands)
    text = said(at)
    assert "### No scheme on a" in text
    assert why.elsewhere in text
    for each in why.asks:
        assert each[1:] in text
    near = nearest(demands)[0]
    at = sound(button(at, "Show ").click().run())
    assert f"### {near.schemes:,} " in said(at)
    assert "No scheme on a" not in said(at)
    assert set(near.missed).isdisjoint({*at.query_params, *at.session_state[PREFIX + "conditions"]})


def test_a_demand_and_a_condition_are_asked_by_a_click():
    at = open_page()
    at = sound(at.selectbox(key=PREFIX + "case-rescaling").set_value("need").run())
    assert at.query_params["case-rescaling"] == "need"
    at = sound(at.pills(key=PREFIX + "conditions").set_value(["gain-only"]).run())
    both = Demands("dense", ("case-rescaling",), conditions=("gain-only",))
    assert answers_words(both, found(both)) in said(at)
    assert "It learns γ alone." in said(at)


@pytest.mark.parametrize("layer", SHAPES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_a_question_asks_only_for_itself_and_has_pictures(question, layer):
    at = open_page(layer=layer, **{"weight-matrix-rescaling": "without", "conditions": "gain-only", "page": "2"})
    at = sound(at.button(key=f"{PREFIX}question {question.key}").click().run())
    demands = Demands(layer, question.need, conditions=question.conditions)
    assert answers_words(demands, found(demands)) in said(at)
    assert question.is_asked(demands)
    wanted = dict.fromkeys(question.need, "need") | {"layer": layer} | {"conditions": ",".join(question.conditions)}
    defaults = {"layer": "dense", "conditions": ""}
    assert dict(at.query_params) == {name: text for name, text in wanted.items() if text != defaults.get(name)}
    assert len(plots(at)["cubes"]["hover"]["copies"]) > 1


def test_the_scheme_that_is_picked_has_a_cube():
    schemes = found(Demands("conv"))
    for scheme in (SCHEMES["dynamic-tanh"], schemes[100][0]):
        cubes = choose_pictured(Demands("conv"), schemes, scheme, True)
        assert (len(cubes), cubes[-1]) == (CUBES, scheme)


def test_another_one_is_picked_in_the_list_and_by_its_name_and_stays_in_the_link():
    at = open_page(layer="conv")
    at = sound(button(at, "More").click().run())
    schemes = found(Demands("conv"))
    third, _ = schemes[AT_ONCE + 2]
    at = sound(at.radio(key=LIST).set_value(pick_text(third, "conv")).run())
    assert about(third, "conv") in said(at)
    again = open_page(**{key: at.query_params[key] for key in at.query_params})
    assert about(third, "conv") in said(again)
    group = pick_text(SCHEMES["group"], "conv")
    at = sound(at.pills(key=BY_NAME).set_value(group).run())
    assert "### Group normalization" in said(at)
    at = sound(at.selectbox(key=PREFIX + "weight-vector-rescaling").set_value("need").run())
    assert "### Group normalization" not in said(at)  # which does not absorb it


@pytest.mark.parametrize(
    "pick",
    [
        "x",
        "own|own",
        "batch",
        "groups(3),own,own,own|",
        "full,full,full,own|full",
        "||||",
        "own,full,full,own|own,full,full,own",
    ],
)
def test_a_link_to_what_is_no_scheme_here_shows_the_first(pick):
    assert "### No normalization" in said(open_page(pick=pick, page="900"))


def some_schemes():
    rng = np.random.default_rng(2)
    for layer in SHAPES:
        every = list(searched(layer, WEIGHTS))
        simple = named(Demands(layer, weights=WEIGHTS))
        for scheme in [*simple, *(every[k][0] for k in rng.choice(len(every), 4, replace=False))]:
            yield pytest.param(scheme, layer, id=f"{layer}-{pick_text(scheme, layer)}")


@pytest.mark.parametrize(("scheme", "layer"), some_schemes())
def test_the_lab_and_table_1_make_this_very_scheme(scheme, layer):
    from normviz.lab import state as lab
    from normviz.table1 import state as table1
    from normviz.ui.link import clean
    from normviz.ui.scheme import scheme_of

    ways = {page: {key: str(value) for key, value in values.items()} for page, values in links(scheme, layer).items()}
    view, notes = clean(lab.PARAMS, ways["/"])
    on = 0 if scheme.on_activations is not None else 1
    assert notes == {}
    assert scheme_of(view).canonical(SHAPES[layer][on]) == scheme.canonical(SHAPES[layer][on])
    view, notes = clean(table1.PARAMS, ways["/invariance"])
    (row,) = table1.schemes_of(view)
    assert notes == {}
    assert row.canonical(SHAPES[layer][on]) == scheme.canonical(SHAPES[layer][on])
    assert table1.setting_of(view).layer == layer
    assert invariances(row, layer) == invariances(scheme, layer)


def test_the_links_of_the_page_lead_there():
    at = open_page(layer="conv", **{"case-rescaling": "need", "dataset-recentering": "need"})
    scheme = found(asked({"layer": "conv", "case-rescaling": "need", "dataset-recentering": "need"}))[0][0]
    shown = [
        dict(parse_qsl(link.proto.query_string)) for link in at.get("page_link") if "scheme" in link.proto.query_string
    ]
    assert shown == [{key: str(value) for key, value in values.items()} for values in links(scheme, "conv").values()]


@pytest.mark.parametrize("layer", SHAPES)
def test_what_is_picked_comes_back_from_its_text(layer):
    for scheme, _ in list(searched(layer, WEIGHTS))[::37]:
        assert picked(pick_text(scheme, layer)) == scheme
    for row in named(Demands(layer, weights=WEIGHTS)):
        shape = SHAPES[layer][0 if row.on_activations else 1]
        assert picked(pick_text(row, layer)).canonical(shape) == row.canonical(shape)


@pytest.mark.parametrize("key", [row.key for row in named(Demands("conv", weights=WEIGHTS))])
def test_every_named_one_opens(key):
    text = pick_text(SCHEMES[key], "conv")
    at = open_page(layer="conv", weights="any", pick=text)
    assert about(picked(text), "conv") in said(at)
    assert f"### {sentence(name_of(picked(text), 'conv'))}" in said(at)


@pytest.mark.parametrize("layer", SHAPES)
def test_a_name_is_told_where_a_registered_scheme_is_the_same(layer):
    for row in named(Demands(layer, weights=WEIGHTS)):
        others = [each for each in same_as(row, SHAPES[layer][0]) if each.name != row.name]
        assert all(wording.named(each) in about(row, layer) for each in others)
        table = invariance_table(row, layer)
        assert [mark == MARKS[True] for mark in table["At ε = 0"]] == [
            key in has(row, layer) for key in TRANSFORMATIONS
        ]


def test_every_value_of_the_panel_belongs_to_it():
    view = {"show": "find"}
    assert all(state.has(view, name) for name in ("pick", "page", "code", "camera", "conditions", *TRANSFORMATIONS))
    assert not any(state.has({"show": "map"}, name) for name in ("pick", "page", "code", "conditions"))


@pytest.mark.parametrize("layer", SHAPES)
def test_what_is_known_by_name_is_found_or_has_windows(layer):
    """Instance norm leaves only zeros on a dense layer, and is no answer there."""
    for key in TRANSFORMATIONS:
        demands = Demands(layer, (key,), weights=WEIGHTS)
        texts = {pick_text(scheme, layer) for scheme, _ in found(demands)}
        windows = {pick_text(row, layer) for row in named(demands) if "window" in row.parameters}
        assert set(by_name(demands)) - windows <= texts
        assert layer == "conv" or not any("Instance" in label for label in by_name(demands).values())


@pytest.mark.parametrize(
    ("link", "gain", "bias"),
    [
        ({"dataset-recentering": "need", "dataset-rescaling": "without"}, False, True),  # mean-only batch norm
        ({"case-rescaling": "need", "weight-matrix-recentering": "without"}, True, False),  # RMS norm
        ({"case-rescaling": "need", "weight-vector-rescaling": "need", "layer": "conv"}, True, True),
        ({"case-rescaling": "need", "weights": "weight-standardization"}, True, False),  # RMS norm behind it
    ],
)
def test_what_is_called_by_a_name_learns_what_that_one_learns(link, gain, bias):
    at = open_page(**link)
    last = next(each.value for each in at.latex if each.value.lstrip("$\n").startswith("y_"))
    assert (r"\gamma" in last, r"\beta" in last) == (gain, bias)
    first = found(asked(link))[0][0]
    assert ("It learns γ alone" in about(first, link.get("layer", "dense"))) == (gain and not bias)


@pytest.mark.parametrize("link", NOTHING)
def test_who_gives_up_least_is_said_in_whole_sentences(link):
    at, demands = open_page(**link), asked(link)
    text = said(at)
    for near in nearest(demands):
        assert given_up(near, demands) in text
        assert given_up(near, demands).count(" to ") >= len(near.missed)
    assert ".." not in text
