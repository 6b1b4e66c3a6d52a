"""Links that a teacher controls: on every page, what they lock, hide, cover and show alone."""

import re

import pytest
from lab_page import OPENED, replaced, said, sound
from pairs import mark_heavy_except
from streamlit.testing.v1 import AppTest
from wandering import ROOT, STATES

from normviz.ui.link import TRUSTED_LINKS_KEY, clean_values, create_restriction_params, label_locks
from normviz.ui.locks import LOCKED_KEY
from normviz.ui.page_parts import PAGE_PARTS, list_figures
from normviz.ui.restrictions import HIDDEN_PARTS, build_restriction_style, expand_locks, find_covered_figures
from normviz.ui.scheme_picker import make_state_key

NAMES = {"tensor_lab": "lab", "invariance": "table"}
"""Pages whose values have another name than their script."""

WIDGETS = (
    "number_input",
    "selectbox",
    "slider",
    "select_slider",
    "toggle",
    "multiselect",
    "button_group",
    "text_input",
)


def name_page(page):
    return NAMES.get(page, page)


def open_page(page, **link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=600).switch_page(f"pages/{page}.py")
    at.query_params.update(link)
    for part in OPENED:
        at.session_state[part] = True
    return sound(at.run())


def describe(page):
    """The values of a page with their defaults, and the labels of what can be locked."""
    state = STATES[page]
    view, _ = clean_values(state.PARAMS, {})
    return view, label_locks(state.PARAMS, view, state.is_relevant)


def style_of(at):
    bodies = (each.proto.body for each in at.get("html"))
    return "".join(body for body in bodies if body.startswith("<style>"))


@pytest.mark.parametrize("page", STATES)
def test_locked_controls_are_disabled_and_said_and_the_others_are_not(page):
    _, labels = describe(page)
    keys = {param.name: param.key for param in STATES[page].PARAMS}
    locked = {keys[name] for name in expand_locks(list(labels))}
    at = open_page(page, lock=",".join(labels))
    assert set(at.session_state[LOCKED_KEY]) == locked
    assert replaced(at) == []
    assert any("Locked by this link" in each.value for each in at.caption)
    for lock in (True, False):
        widgets = {w.key: w.disabled for kind in WIDGETS for w in at.get(kind) if w.key is not None}
        parts = {make_state_key(key, part): key for key in locked for part in ("common", "more", "row")}
        found = {key: disabled for key, disabled in widgets.items() if parts.get(key, key) in locked}
        assert found, "the page has controls"
        if lock:
            assert [key for key, disabled in found.items() if not disabled] == []
            at = open_page(page)
        else:
            assert not all(found.values())


def test_a_locked_value_stays_whatever_sets_it():
    at = open_page("tensor_lab", lock="scheme,shape", scheme="group", groups="3", c="12")
    at.session_state["scheme"], at.session_state["c"] = "layer", 5
    sound(at.run())
    assert (at.session_state["scheme"], at.session_state["c"]) == ("group", 12)
    at = sound(at.selectbox(key="data").set_value("digits").run())  # which is not locked
    assert at.session_state["data"] == "digits"


@pytest.mark.parametrize("page", STATES)
def test_what_a_link_restricts_stays_when_a_link_of_the_app_says_nothing_of_it(page):
    other = "compare" if page != "compare" else "weights"
    name, (_, labels) = name_page(page), describe(page)
    lock = next(iter(labels))
    at = open_page(page, lock=lock, hide="menu")
    at = sound(at.switch_page(f"pages/{other}.py").run())
    assert HIDDEN_PARTS["menu"].selectors in style_of(at)
    at.session_state[TRUSTED_LINKS_KEY] = {frozenset({"present": "1"}.items())}  # as a link of the app does
    at.query_params.clear()
    at.query_params["present"] = "1"
    at = sound(at.switch_page(f"pages/{page}.py").run())
    assert at.session_state["present"] is True
    assert at.session_state[f"{name} lock"] == [lock]
    assert at.session_state[LOCKED_KEY]


@pytest.mark.parametrize("page", STATES)
def test_parts_are_hidden_and_a_figure_stands_alone(page):
    name, (view, _) = name_page(page), describe(page)
    at = open_page(page, hide=",".join(HIDDEN_PARTS))
    assert all(part.selectors in style_of(at) for part in HIDDEN_PARTS.values())
    assert replaced(at) == []
    for figure in list(list_figures(name, view))[:1]:
        at = open_page(page, only=figure, cover="1")
        assert f":has(.st-key-{figure})" in style_of(at)
        assert f".st-key-{figure} {{ anchor-name" in style_of(at)
        at = sound(at.button(key="cover show").click().run())
        assert "anchor-name" not in style_of(at)
        assert "cover=1" in "&".join(f"{key}={value[0]}" for key, value in at.query_params.items())


@pytest.mark.parametrize("page", STATES)
def test_unknown_names_are_left_out_and_said(page):
    at = open_page(
        page, lock="<b>,zzzzzz", hide="menu,</style><script>", only="</style>", cover="perhaps", present="so"
    )
    assert len(replaced(at)) == 5
    assert "<" not in style_of(at).replace("<style>", "").replace("</style>", "")
    assert at.session_state["hide"] == ["menu"]
    assert "Locked by this link" not in said(at)


def test_a_long_list_of_names_is_read_in_part():
    (lock,) = (p for p in create_restriction_params("lab", STATES["tensor_lab"].PARAMS) if p.name == "lock")
    assert lock.find_nearest_or_default(",".join(["shaape"] * 49 + ["x"] * 10_000 + ["scheme"]), {}) == ["shape"]


def list_keys(node):
    """The CSS keys of all containers and components below a node."""
    identity = getattr(getattr(node, "proto", None), "id", "")
    children = getattr(node, "children", {}).values()
    words = re.sub(r"[^a-zA-Z0-9_-]", "-", identity)
    return {words, *(key for child in children for key in list_keys(child))}


PANELS = [
    (page, panel)
    for page in STATES
    for panel in dict.fromkeys(
        panel for each in PAGE_PARTS[name_page(page)].figures.values() for panel in each.panels or ("",)
    )
]


@pytest.mark.parametrize("place", mark_heavy_except(PANELS[:1], PANELS))
def test_every_figure_is_on_its_panel(place):
    page, panel = place
    parts, name = PAGE_PARTS[name_page(page)], name_page(page)
    params = {param.name: param for param in STATES[page].PARAMS}
    link = {parts.panel: params[parts.panel].format_for_link(panel)} if panel else {}
    at = open_page(page, **link)
    keys = list_keys(at.main)
    for figure in list_figures(name, {param.name: at.session_state[param.key] for param in params.values()}):
        assert any(f"-{figure}" in key or key.startswith(figure) for key in keys), figure


def test_every_page_has_its_parts():
    assert PAGE_PARTS.keys() == {name_page(page) for page in STATES}


def test_the_cover_is_over_the_figure_that_stands_alone():
    assert find_covered_figures("lab", {}, "element") == ["element"]
    assert find_covered_figures("lab", {"tab": "picture"}, "") == ["cube", "element", "picture"]
    assert build_restriction_style("lab", "", [], []) == ""
