"""The panel that finds a scheme, run by Streamlit without a browser."""

import re
from urllib.parse import parse_qsl

import numpy as np
import pytest
from lab_page import ROOT, plots, replaced, said, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.core.registry import SCHEMES, find_equal_schemes
from normviz.core.text import capitalize_first
from normviz.core.theory import predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe import wording
from normviz.topics.design import state
from normviz.topics.design.controls import QUESTION_KEY
from normviz.topics.design.demands import SHAPES, WEIGHT_KEYS, Demands, adapt_scheme_to_demands
from normviz.topics.design.panels.answer import (
    INVARIANCE_MARKS,
    build_answer_links,
    describe_found_scheme,
    tabulate_changes,
)
from normviz.topics.design.panels.search_results import (
    LIST_KEY,
    MAX_CUBES,
    MAX_LISTED,
    choose_drawn_schemes,
    label_offered_schemes,
)
from normviz.topics.design.pictures import FIRST_PICTURE_CHANGE, compare_pictures
from normviz.topics.design.questions import (
    BEST_KNOWN,
    QUESTIONS,
    describe_answer_count,
    describe_known_answers,
    find_question,
)
from normviz.topics.design.reasons import describe_relaxation, explain_no_answer
from normviz.topics.design.search import (
    compute_invariances,
    find_nearest_schemes,
    find_properties,
    find_registered_answers,
    find_scheme_name,
    find_schemes,
    is_answer,
)
from normviz.topics.design.state import PREFIX, format_pick, parse_pick
from normviz.ui.page_texts import PAGE_TEXTS
from normviz.ui.scheme import build_schemes

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
    {"layer": "dense", "dataset-recentering": "need", "case-rescaling": "need"},
    {"layer": "conv", "weights": "any", "weight-matrix-rescaling": "need", "weight-matrix-recentering": "need",
     "case-rescaling": "without", "conditions": "nothing-kept"},
    {"layer": "dense", "weights": "weight", "weight-matrix-recentering": "need"},
    {"layer": "dense", "weights": "spectral", "conditions": "nothing-kept"},
    dict.fromkeys(TRANSFORMATIONS, "need") | {"layer": "conv"},
]  # fmt: skip


def open_page(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/design.py")
    at.context["theme"] = "light"
    at.query_params.update(link)
    return sound(at.run())


def radio(at, key):
    return next(each for each in at.radio if each.key == key)


def asked(link):
    need, without = (tuple(key for key in TRANSFORMATIONS if link.get(key) == each) for each in ("need", "without"))
    front = link.get("weights", "none")
    conditions = tuple(filter(None, link.get("conditions", "").split(",")))
    if not (need or without or conditions):
        need = QUESTIONS[0].need
    return Demands(link.get("layer", "conv"), need, without, WEIGHT_KEYS if front == "any" else (front,), conditions)


def button(at, words):
    return next(each for each in at.button if each.label.startswith(words))


@pytest.mark.parametrize("link", ASKED)
def test_the_best_known_answer_is_open_and_the_answers_have_cubes(link):
    at, demands = open_page(**link), asked(link)
    schemes, layer = find_schemes(demands), demands.layer
    text = said(at)
    assert f"### {describe_known_answers(demands)}" in text
    assert describe_answer_count(demands, schemes) in " ".join(texts(at.caption))
    chosen = parse_pick(at.session_state[LIST_KEY])
    assert is_answer(chosen, demands)
    assert describe_found_scheme(adapt_scheme_to_demands(chosen, demands), layer) in text
    table = at.table[0].value
    assert list(table["At ε = 0"]) == [
        INVARIANCE_MARKS[key in compute_invariances(chosen, layer)] for key in TRANSFORMATIONS
    ]
    copies = plots(at)["cubes"]["hover"]["copies"]
    assert len(copies) == min(len(choose_drawn_schemes(demands, schemes, chosen, False)), MAX_CUBES)
    assert all(
        any(scheme.label in label for label in radio(at, LIST_KEY).options)
        for scheme in find_registered_answers(demands)
    )


@pytest.mark.parametrize("layer", SHAPES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_every_listed_scheme_is_an_answer(question, layer):
    demands = Demands(layer, question.need, conditions=question.conditions)
    schemes = find_schemes(demands)
    listed = label_offered_schemes(demands, schemes, schemes[0][0])
    assert len(listed) >= MAX_LISTED or len(listed) >= len(schemes)
    assert all(is_answer(parse_pick(text), demands) for text in listed)


def test_the_page_opens_on_a_question_that_is_answered_in_pictures():
    at = open_page()
    assert radio(at, QUESTION_KEY).value == QUESTIONS[0]
    assert "Layer, Instance, Group and RMS norm do. Batch norm does not." in said(at)
    (html,) = (each.proto.body for each in at.get("html") if "nv-answers" in each.proto.body)
    assert html.count("<img") == 4 * (1 + len(BEST_KNOWN))
    assert re.findall(r'class="(\w+)">[=≠]', html) == [
        *["changed"] * 2, *["same"] * 4, "same", "changed", *["same"] * 4,
    ]  # fmt: skip
    assert at.query_params == {}


@pytest.mark.parametrize("change", TRANSFORMATIONS)
@pytest.mark.parametrize("scheme", BEST_KNOWN)
def test_the_pictures_say_what_the_rule_says(scheme, change):
    pair = compare_pictures(scheme, change)
    assert pair.same == predict(SCHEMES[scheme], TRANSFORMATIONS[change], "conv", *SHAPES["conv"]).invariant
    seen = np.abs(pair.after - pair.before).max() / np.ptp(pair.before)
    assert seen < 1e-9 if pair.same else seen > 0.1
    assert not compare_pictures("none", change).same


@pytest.mark.parametrize("scheme", BEST_KNOWN)
def test_only_batch_norm_changes_the_picture_that_is_not_touched(scheme):
    assert compare_pictures("none", FIRST_PICTURE_CHANGE, 1).same
    assert compare_pictures(scheme, FIRST_PICTURE_CHANGE, 1).same == (scheme != "batch")


@pytest.mark.parametrize("scheme", BEST_KNOWN)
def test_the_picture_alone_in_the_batch_says_what_the_condition_says(scheme):
    assert compare_pictures(scheme, "independent").same == ("independent" in find_properties(SCHEMES[scheme], "conv"))


FORMER = [
    ({"show": "map"}, {}),
    ({"show": "map", "set": "dataset-recentering,weight-vector-rescaling", "train": "all"},
     {"dataset-recentering": "need", "weight-vector-rescaling": "need"}),
    ({"show": "find", "page": "7", "layer": "dense"}, {"layer": "dense"}),
]  # fmt: skip


@pytest.mark.parametrize(("former", "link"), FORMER)
def test_a_link_to_a_former_panel_opens_the_nearest_question(former, link):
    at = open_page(**former)
    assert at.query_params == link
    assert not replaced(at)
    assert describe_known_answers(asked(link)) in said(at)


def test_links_to_what_other_pages_show_lead_there():
    assert state.translate_former_link({"show": "pointwise"}) == (
        "tensor_lab", {"scheme": "dynamic-tanh", "tab": "response"}
    )  # fmt: skip
    assert state.translate_former_link({"show": "conditional", "delta": "3"}) == ("tensor_lab", {"scheme": "instance"})


@pytest.mark.parametrize("link", NOTHING)
def test_where_there_are_none_the_reason_and_what_gives_up_least(link):
    at, demands = open_page(**link), asked(link)
    why = explain_no_answer(demands)
    text = said(at)
    assert "### No scheme on a" in text
    assert why.elsewhere in text
    for each in why.asks:
        assert each[1:] in text
    near = find_nearest_schemes(demands)[0]
    at = sound(button(at, "Show ").click().run())
    assert "No scheme on a" not in said(at)
    assert set(near.missed).isdisjoint({*at.query_params, *at.session_state[PREFIX + "conditions"]})


def test_a_demand_and_a_condition_are_asked_by_a_click():
    at = open_page(layer="dense")
    at = sound(at.selectbox(key=PREFIX + "case-rescaling").set_value("need").run())
    assert at.query_params["case-rescaling"] == "need"
    at = sound(at.pills(key=PREFIX + "conditions").set_value(["gain-only"]).run())
    both = Demands("dense", ("case-rescaling",), conditions=("gain-only",))
    assert describe_known_answers(both) in said(at)
    assert "It learns γ alone." in said(at)
    assert radio(at, QUESTION_KEY).value is None


@pytest.mark.parametrize("layer", SHAPES)
@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_a_question_asks_only_for_itself(question, layer):
    at = open_page(layer=layer, **{"weight-matrix-rescaling": "without", "conditions": "gain-only"})
    at = sound(radio(at, QUESTION_KEY).set_value(question).run())
    demands = Demands(layer, question.need, conditions=question.conditions)
    assert describe_known_answers(demands) in said(at)
    assert find_question(demands) == question
    assert any("nv-answers" in each.proto.body for each in at.get("html")) == (layer == "conv")
    assert f"**Why?** {question.because}" in said(at)
    wanted = {} if question == QUESTIONS[0] else dict.fromkeys(question.need, "need")
    wanted |= {"layer": layer, "conditions": ",".join(question.conditions)}
    defaults = {"layer": "conv", "conditions": ""}
    assert dict(at.query_params) == {name: text for name, text in wanted.items() if text != defaults.get(name)}


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.key)
def test_a_question_has_words_of_its_own(question):
    (story,) = (story for story in PAGE_TEXTS if story.page == "design")
    assert question.key in story.panels


def test_the_scheme_that_is_picked_has_a_cube():
    schemes = find_schemes(Demands("conv"))
    for scheme in (SCHEMES["dynamic-tanh"], schemes[100][0]):
        cubes = choose_drawn_schemes(Demands("conv"), schemes, scheme, True)
        assert (len(cubes), cubes[-1]) == (MAX_CUBES, scheme)


def test_another_one_is_picked_in_the_list_and_stays_in_the_link():
    at = open_page()
    group = format_pick(SCHEMES["group"], "conv")
    at = sound(radio(at, LIST_KEY).set_value(group).run())
    assert "### Group normalization" in said(at)
    again = open_page(**{key: at.query_params[key] for key in at.query_params})
    assert "### Group normalization" in said(again)
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
def test_a_link_to_what_is_no_answer_here_shows_the_best_known(pick):
    assert "### Layer normalization" in said(open_page(pick=pick, layer="dense"))


def some_schemes():
    rng = np.random.default_rng(2)
    for layer in SHAPES:
        every = list(find_schemes(Demands(layer, weights=WEIGHT_KEYS)))
        simple = find_registered_answers(Demands(layer, weights=WEIGHT_KEYS))
        for scheme in [*simple, *(every[k][0] for k in rng.choice(len(every), 4, replace=False))]:
            yield pytest.param(scheme, layer, id=f"{layer}-{format_pick(scheme, layer)}")


@pytest.mark.parametrize(("scheme", "layer"), some_schemes())
def test_the_lab_and_table_1_make_this_very_scheme(scheme, layer):
    from normviz.topics.lab import state as lab
    from normviz.topics.table1 import state as table1
    from normviz.ui.link import clean_values
    from normviz.ui.scheme import build_scheme

    ways = {
        page: {key: str(value) for key, value in values.items()}
        for page, values in build_answer_links(scheme, layer).items()
    }
    view, notes = clean_values(lab.PARAMS, ways["/"])
    on = 0 if scheme.activation_part is not None else 1
    assert notes == {}
    assert build_scheme(view).compute_canonical_key(SHAPES[layer][on]) == scheme.compute_canonical_key(
        SHAPES[layer][on]
    )
    view, notes = clean_values(table1.PARAMS, ways["/invariance"])
    (row,) = build_schemes(view)
    assert notes == {}
    assert row.compute_canonical_key(SHAPES[layer][on]) == scheme.compute_canonical_key(SHAPES[layer][on])
    assert table1.build_table_setting(view).layer == layer
    assert compute_invariances(row, layer) == compute_invariances(scheme, layer)


def test_the_links_of_the_page_lead_there():
    at = open_page(layer="conv", **{"case-rescaling": "need", "dataset-recentering": "need"})
    scheme = SCHEMES["instance"]
    shown = [
        dict(parse_qsl(link.proto.query_string)) for link in at.get("page_link") if "scheme" in link.proto.query_string
    ]
    assert shown == [
        {key: str(value) for key, value in values.items()} for values in build_answer_links(scheme, "conv").values()
    ]


@pytest.mark.parametrize("layer", SHAPES)
def test_what_is_picked_comes_back_from_its_text(layer):
    for scheme, _ in list(find_schemes(Demands(layer, weights=WEIGHT_KEYS)))[::37]:
        assert parse_pick(format_pick(scheme, layer)) == scheme
    for row in find_registered_answers(Demands(layer, weights=WEIGHT_KEYS)):
        shape = SHAPES[layer][0 if row.activation_part else 1]
        assert parse_pick(format_pick(row, layer)).compute_canonical_key(shape) == row.compute_canonical_key(shape)


@pytest.mark.parametrize("key", [row.key for row in find_registered_answers(Demands("conv", weights=WEIGHT_KEYS))])
def test_every_named_one_opens(key):
    text = format_pick(SCHEMES[key], "conv")
    asked = ((each, Demands("conv", each.need, (), WEIGHT_KEYS, each.conditions)) for each in QUESTIONS)
    question = next(each for each, demands in asked if is_answer(SCHEMES[key], demands))
    link = dict.fromkeys(question.need, "need") | {"conditions": ",".join(question.conditions)}
    at = open_page(layer="conv", weights="any", pick=text, **{name: text for name, text in link.items() if text})
    assert describe_found_scheme(parse_pick(text), "conv") in said(at)
    assert f"### {capitalize_first(find_scheme_name(parse_pick(text), 'conv'))}" in said(at)


@pytest.mark.parametrize("layer", SHAPES)
def test_a_name_is_told_where_a_registered_scheme_is_the_same(layer):
    for row in find_registered_answers(Demands(layer, weights=WEIGHT_KEYS)):
        others = [each for each in find_equal_schemes(row, SHAPES[layer][0]) if each.name != row.name]
        assert all(wording.format_scheme_name(each) in describe_found_scheme(row, layer) for each in others)
        table = tabulate_changes(row, layer)
        assert [mark == INVARIANCE_MARKS[True] for mark in table["At ε = 0"]] == [
            key in find_properties(row, layer) for key in TRANSFORMATIONS
        ]


@pytest.mark.parametrize("layer", SHAPES)
def test_what_is_known_by_name_is_found_or_has_windows(layer):
    """Instance norm leaves only zeros on a dense layer, and is no answer there."""
    for key in TRANSFORMATIONS:
        demands = Demands(layer, (key,), weights=WEIGHT_KEYS)
        texts = {format_pick(scheme, layer) for scheme, _ in find_schemes(demands)}
        windows = {format_pick(row, layer) for row in find_registered_answers(demands) if "window" in row.parameters}
        known = {format_pick(row, layer) for row in find_registered_answers(demands)}
        assert known - windows <= texts
        assert layer == "conv" or "instance" not in {row.key for row in find_registered_answers(demands)}


@pytest.mark.parametrize(
    ("link", "gain", "bias"),
    [
        (
            {"layer": "dense", "dataset-recentering": "need", "dataset-rescaling": "without"},
            False,
            True,
        ),  # mean-only batch norm
        ({"layer": "dense", "case-rescaling": "need", "weight-matrix-recentering": "without"}, True, False),  # RMS norm
        ({"case-rescaling": "need", "weight-vector-rescaling": "need", "layer": "conv"}, True, True),
        (
            {"layer": "dense", "case-rescaling": "need", "weights": "weight-standardization"},
            True,
            False,
        ),  # RMS norm behind it
    ],
)
def test_what_is_called_by_a_name_learns_what_that_one_learns(link, gain, bias):
    at = open_page(**link)
    last = next(each.value for each in at.latex if each.value.lstrip("$\n").startswith("y_"))
    assert (r"\gamma" in last, r"\beta" in last) == (gain, bias)
    assert ("It learns γ alone" in said(at)) == (gain and not bias)


@pytest.mark.parametrize("link", NOTHING)
def test_who_gives_up_least_is_said_in_whole_sentences(link):
    at, demands = open_page(**link), asked(link)
    text = said(at)
    for near in find_nearest_schemes(demands):
        assert describe_relaxation(near, demands) in text
        assert describe_relaxation(near, demands).count(" to ") >= len(near.missed)
    assert ".." not in text
