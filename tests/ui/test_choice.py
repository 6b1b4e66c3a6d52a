"""The scheme picker: common schemes as pills, the others in a menu with a search."""

import pytest
from lab_page import open_lab, pick, sound
from streamlit.testing.v1 import AppTest

from normviz.core.registry import SCHEMES
from normviz.describe.aims import summarize_scheme
from normviz.topics.compare.state import MOST, PREFIX
from normviz.ui.scheme_picker import (
    COMMON_SCHEMES,
    SCHEME_GROUPS,
    find_scheme_group,
    format_menu_entry,
    format_scheme_choice,
    make_state_key,
    split_common_schemes,
)

SIX = "batch,layer,layer-channels,instance,group,rms"


def test_five_schemes_have_a_pill_and_the_menu_has_the_others_by_group():
    common, rest = split_common_schemes(list(SCHEMES))
    assert common == list(COMMON_SCHEMES) == ["batch", "layer", "instance", "group", "rms"]
    assert sorted([*common, *rest]) == sorted(SCHEMES)
    groups = [find_scheme_group(key) for key in rest]
    assert list(dict.fromkeys(groups)) == list(SCHEME_GROUPS)  # each group stands together, in this order
    assert [key for key in rest if find_scheme_group(key) == "without"] == ["none", "dynamic-tanh", "dynamic-erf"]
    assert {SCHEMES[key].acts_on for key in rest if find_scheme_group(key) == "weights"} == {"weight", "both"}
    assert rest[-1] == "custom"


def test_where_several_are_chosen_no_normalization_has_a_pill_too():
    assert split_common_schemes(["batch", "weight", "none"], several=True) == (["none", "batch"], ["weight"])


def test_a_search_finds_a_scheme_by_its_group_its_name_and_its_axes():
    line = format_menu_entry("spectral")
    assert all(word in line for word in ("Weights", "Spectral", "σ₁"))
    assert format_menu_entry("ghost-batch") == "Activations: Ghost batch – H·W, N in groups"


def test_alike_schemes_are_told_apart_by_what_they_do():
    layers = [summarize_scheme(SCHEMES[key]) for key in ("layer", "layer-channels", "layer-spatial")]
    assert layers == ["H·W·C", "C", "H·W"]
    weights = [summarize_scheme(SCHEMES[key]) for key in ("weight", "weight-standardization", "spectral")]
    assert weights == ["÷ ‖w‖", "− μ, ÷ σ", "÷ σ₁"]
    assert [summarize_scheme(SCHEMES[key]) for key in ("rms", "group", "none")] == [
        "C, no mean",
        "H·W, C in groups",
        "",
    ]
    of_channels = [summarize_scheme(SCHEMES[key]) for key in ("scale", "pixel", "query-key")]
    assert of_channels == ["C, no mean, one γ", "C, no mean, no γ", "C in groups, no mean"]
    of_batches = [summarize_scheme(SCHEMES[key]) for key in ("ghost-batch", "mean-only-batch", "filter-response")]
    assert of_batches == ["H·W, N in groups", "N·H·W, mean only", "H·W, no mean"]
    assert len({format_scheme_choice(key) for key in SCHEMES}) == len(SCHEMES)


def shown(at, key="scheme"):
    """What pills and menu show as chosen."""
    return at.pills(key=make_state_key(key, "common")).value, at.selectbox(key=make_state_key(key, "more")).value


def test_one_scheme_is_chosen_on_a_pill_or_in_the_menu():
    at = open_lab(scheme="layer")
    for key in ("spectral", "custom", "none", "rms"):
        pick(at, key)
        assert at.session_state["scheme"] == at.query_params["scheme"] == key
        assert shown(at) == ((key, None) if key in COMMON_SCHEMES else (None, key))


@pytest.mark.parametrize("key", SCHEMES)
def test_a_link_to_any_scheme_shows_it_as_chosen(key):
    assert shown(open_lab(scheme=key)) == ((key, None) if key in COMMON_SCHEMES else (None, key))


def test_clearing_the_menu_goes_back_to_the_first_common_scheme():
    at = open_lab(scheme="spectral")
    sound(at.selectbox(key=make_state_key("scheme", "more")).set_value(None).run())
    assert shown(at) == ("batch", None)


def test_a_widget_is_set_only_to_another_value_or_on_another_page():
    """Streamlit renders a widget again that is set, even to its own value, and a new page's widget has its default."""

    def page():
        import streamlit as st

        from normviz.ui.locks import set_widget_value

        st.session_state.setdefault("page", "lab")
        set_widget_value("letter", st.session_state.get("told", "b"))
        st.selectbox("Letter", ["a", "b", "c"], key="letter")

    def runs(**told):
        for name, value in told.items():
            at.session_state[name] = value
        box = at.run().selectbox(key="letter")
        return box.value, box.proto.set_value

    at = AppTest.from_function(page)
    assert [runs(), runs(), runs(told="c"), runs()] == [("b", True), ("b", False), ("c", True), ("c", False)]
    assert [runs(page="compare"), runs()] == [("c", True), ("c", False)]


def chosen(at, part, values):
    """The compare page once these are picked among those of a part of the picker."""
    widget = at.pills if part == "common" else at.multiselect
    return sound(widget(key=make_state_key(PREFIX + "schemes", part)).set_value(values).run())


def test_several_schemes_stand_in_the_order_in_which_they_were_chosen():
    at = open_lab("pages/compare.py", schemes="rms,custom")
    chosen(at, "more", ["custom", "layer-weight"])
    chosen(at, "common", ["batch", "rms"])
    assert at.session_state[PREFIX + "schemes"] == ["rms", "custom", "layer-weight", "batch"]
    chosen(at, "more", ["layer-weight"])
    assert at.query_params["schemes"] == "rms,layer-weight,batch"


def closed(at):
    """Whether what is not chosen is shown as what cannot be."""
    return any("pointer-events: none" in str(each.proto) for each in at.get("html"))


def test_a_seventh_scheme_cannot_be_picked_and_the_page_says_why():
    at = open_lab("pages/compare.py", schemes=SIX)
    assert any(f"At most {MOST}: take one out" in each.value for each in at.caption)
    assert (
        at.multiselect(key=make_state_key(PREFIX + "schemes", "more")).proto.max_selections == 1
    )  # that one is chosen
    chosen(at, "common", [*(key for key in SIX.split(",") if key in COMMON_SCHEMES), "none"])
    assert at.session_state[PREFIX + "schemes"] == SIX.split(",")
    assert closed(at)
    chosen(at, "common", [key for key in SIX.split(",")[1:] if key in COMMON_SCHEMES])
    assert not any("At most" in each.value for each in at.caption)
    assert not closed(at)


def test_a_menu_without_a_choice_is_closed_while_the_pills_hold_as_many_as_there_may_be():
    at = open_lab("pages/compare.py", schemes="none,batch,layer,instance,group,rms")
    assert at.multiselect(key=make_state_key(PREFIX + "schemes", "more")).disabled
    chosen(at, "common", ["batch"])
    assert not at.multiselect(key=make_state_key(PREFIX + "schemes", "more")).disabled
