"""A declared value as a control: its widget, limits, label, texts and place follow from the declaration."""

import pytest
from declared import EVERY_DECLARATION
from lab_page import plots, sound
from streamlit.testing.v1 import AppTest

from normviz.ui.settings import WIDGETS


def small_page():
    from collections.abc import Sequence
    from dataclasses import dataclass

    import streamlit as st

    from normviz.core.settings import DependentValue, choice, integer, multiple_choice, number_choice, real, switch
    from normviz.ui.link import create_params, sync_page_values
    from normviz.ui.settings import Controls

    @dataclass(frozen=True)
    class Page:
        shape: str = choice("round", {"round": "Round", "square": "Square"}, label="Shape", help="Seen from above.")
        layers: int = integer(
            3, 1, 9, label=DependentValue("shape", {"round": "Discs", "square": "Slabs"}), control="slider"
        )
        cream: str = choice("none", ("none", "thin", "thick", "all"), label="Cream", shown=str.capitalize)
        size: float = real(
            DependentValue("shape", {"round": 26.0, "square": 20.0}),
            1e-6,
            1e6,
            label="Size",
            stops=(1e-5, 1.0, 20.0, 1e6),
        )
        heat: float = real(180.0, 50.0, 250.0, label="Heat", entered=(-10.0, 300.0))
        dice: int = integer(1, 1, 6, label="Throw", control="segments")
        slices: int = number_choice(
            4, lambda given: [n for n in (1, 2, 4, 8) if n <= 2 * given["layers"]], label="Slices"
        )
        topping: Sequence[str] = multiple_choice(("sugar",), {"sugar": "Sugar", "fruit": "Fruit"}, label="Topping")
        salt: float = real(0.5, 0.0, 1.0, label="Salt", stops=(0.0, 1.0), control="drag")
        vegan: bool = switch(False, label="Vegan")
        hidden: int = integer(1, 0, 9)

    def has(view, name):
        return name != "vegan" or view["cream"] != "all"

    with sync_page_values("cake", create_params(Page, "cake "), has) as view:
        page = Controls(Page, "cake ", view, has)
        page.draw("vegan", "shape")
        st.caption("between")
        page.draw_rest("salt")
        page.draw("salt")


@pytest.fixture
def opened():
    def open_page(**link):
        at = AppTest.from_function(small_page, default_timeout=60)
        at.query_params.update(link)
        return sound(at.run())

    return open_page


def widget(at, name):
    everything = [*at.button_group, *at.slider, *at.select_slider, *at.selectbox, *at.number_input, *at.toggle]
    return next(each for each in everything if each.key == f"cake {name}")


def test_every_value_with_a_label_has_its_control(opened):
    at = opened()
    assert [(each.label, each.options, each.value) for each in at.button_group] == [
        ("Shape", ["Round", "Square"], "round"),
        ("Throw", ["1", "2", "3", "4", "5", "6"], 1),
        ("Topping", ["Sugar", "Fruit"], ["sugar"]),
    ]
    assert [(each.label, each.min, each.max, each.value) for each in at.slider] == [("Discs", 1, 9, 3)]
    assert [(each.label, each.options, each.value) for each in at.selectbox] == [
        ("Cream", ["None", "Thin", "Thick", "All"], "none"),
        ("Slices", ["1", "2", "4"], 4),
    ]
    assert [(each.label, each.options, each.value) for each in at.select_slider] == [
        ("Size", ["10⁻⁵", "1", "20", "26", "10⁶"], 26.0)
    ]
    assert [(each.label, each.min, each.max, each.value) for each in at.number_input] == [("Heat", -10.0, 300.0, 180.0)]
    assert [(each.label, each.value) for each in at.toggle] == [("Vegan", False)]
    drag = plots(at)["salt drag"]
    assert (drag["label"], drag["texts"], drag["index"]) == ("Salt", ["0", "0.5", "1"], 1)
    assert [each.help for each in at.button_group] == ["Seen from above.", "", ""]


def test_what_has_no_place_of_its_own_follows_in_the_order_of_declaration(opened):
    keys = [each.key for each in opened().main if getattr(each, "key", None) or each.type == "caption"]
    names = [key.removeprefix("cake ") if key else "caption" for key in keys if key not in ("toolbar", "replaced")]
    assert names[:2] == ["vegan", "shape"]
    assert names[2:] == ["caption", "layers", "cream", "size", "heat", "dice", "slices", "topping", "salt", "salt drag"]


def test_a_value_that_means_nothing_has_no_control(opened):
    at = opened(cream="all", vegan="1")
    assert len(at.toggle) == 0
    assert (at.session_state["cake vegan"], at.query_params) == (True, {"cream": "all"})


def test_labels_defaults_and_options_follow_the_values_they_depend_on(opened):
    at = opened(size="3", layers="1")
    assert (widget(at, "slices").options, widget(at, "size").value) == (["1", "2"], 3.0)
    at = sound(widget(at, "shape").set_value("square").run())
    assert (at.slider[0].label, at.session_state["cake size"]) == ("Slabs", 20.0)
    at = sound(widget(at, "size").set_value(1.0).run())
    at = sound(widget(at, "layers").set_value(2).run())
    assert (widget(at, "size").value, widget(at, "slices").options) == (1.0, ["1", "2", "4"])


def test_a_value_of_a_link_is_among_the_stops(opened):
    assert widget(opened(size="7.25"), "size").options == ["10⁻⁵", "1", "7.25", "20", "10⁶"]


@EVERY_DECLARATION
def test_every_label_of_the_app_has_a_widget(kind, declared):
    assert declared.control in WIDGETS or not declared.label
