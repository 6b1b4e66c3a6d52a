"""The order of the lab's controls, and what stands under "Advanced"."""

import pytest
from lab_page import open_lab, pick, plots, sound, texts

from normviz.charts.palette import THEMES
from normviz.topics.lab.controls import ADVANCED_EXPANDER
from normviz.topics.lab.state import BELOW_KEY


def labels(at):
    """The labels of the sidebar's controls, from top to bottom, without those under "Advanced"."""
    inside = {id(each) for block in at.expander for each in block}
    return [each.label for each in at.sidebar if getattr(each, "label", "") and id(each) not in inside]


def advanced(at):
    """Whether the expander is open, and the keys of its controls."""
    (block,) = [each for each in at.expander if each.label == "Advanced"]
    keys = [each.key for each in block if getattr(each, "key", None)]
    return block.proto.expanded, [key for key in keys if key != ADVANCED_EXPANDER]


def test_shape_comes_first_then_the_scheme_then_data():
    at = open_lab(scheme="group", groups="2")
    assert labels(at) == [
        *("Shape", "N batch", "H height", "W width", "C channels"),
        *("Normalization", "More normalizations", "Groups G (divisors of C = 6)", "Data"),
    ]
    assert "4\u00a0×\u00a04\u00a0×\u00a04\u00a0×\u00a06 = 384 elements" in texts(at.sidebar.caption)


def test_advanced_is_closed_at_first_and_holds_the_rest():
    at = open_lab(opened=())
    assert advanced(at) == (False, [])
    at.session_state[ADVANCED_EXPANDER] = True
    assert advanced(sound(at.run())) == (True, ["eps", "learned", "gain", "bias", "seed"])


@pytest.mark.parametrize(
    "link",
    [{"eps": "0.1"}, {"gain": "2"}, {"seed": "3"}, {"scheme": "custom"}, {"scheme": "divisive", "over": "HW"}],
    ids=str,
)
def test_a_link_that_sets_something_advanced_opens_it(link):
    assert advanced(open_lab(opened=(), **link))[0]


@pytest.mark.parametrize(
    "link", [{"groups": "3", "scheme": "group"}, {"scheme": "none", "gain": "2"}, {"n": "8"}], ids=str
)
def test_other_links_leave_it_closed(link):
    assert not advanced(open_lab(opened=(), **link))[0]


def test_it_stays_open_once_something_in_it_was_changed():
    at = open_lab()
    for value in (2.0, 1.0):
        sound(at.number_input(key="gain").set_value(value).run())
        assert advanced(at)[0]


def test_own_fields_are_in_sight_once_a_scheme_of_ones_own_is_chosen():
    at = open_lab(opened=())
    pick(at, "custom")
    is_open, keys = advanced(at)
    assert is_open
    assert {"centre", "divide", "a_n", "front"} <= set(keys)


@pytest.mark.parametrize(
    ("link", "words"),
    [
        ({}, "Height and width share one side: h, w = 0, 0 to 3, 3."),
        ({"view": "unfolded"}, "One block for each example."),
        ({"scheme": "weight"}, "Kernel height and kernel width share one side: r, s = 0, 0 to 3, 3."),
        ({"scheme": "weight", "view": "unfolded"}, "One block for each input channel."),
        ({"w": "1"}, ""),
        ({"view": "unfolded", "n": "1"}, ""),
    ],
    ids=str,
)
def test_axes_that_share_a_side_are_explained_below_the_cube(link, words):
    legend = plots(open_lab(**link))["cube"]["legend"]
    assert legend.partition("<div>")[0] == (f"<p>{words}</p>" if words else "")


def test_titles_of_averaged_axes_have_the_colour_of_the_field():
    field, kept = THEMES["light"].field, THEMES["light"].muted
    for link, averaged in (
        ({}, [False, True, True]),
        ({"scheme": "layer"}, [True, False, True]),
        ({"scheme": "group", "groups": "2"}, [True, False, True]),
        ({"scheme": "group", "groups": "6"}, [False, False, True]),
        ({"scheme": "rms"}, [True, False, False]),
        ({"scheme": "none"}, [False, False, False]),
    ):
        (label,) = plots(open_lab(**link))["cube"]["hover"]["labels"]["each"]
        assert label["colours"] == [field if each else kept for each in averaged], link


def test_the_name_and_the_aim_come_first_and_the_papers_stand_with_the_formula():
    at = open_lab(tab="formula")
    assert texts(at.markdown)[0] == "## Batch normalization\nAfterwards every channel has mean 0 and variance 1."
    assert any("Ioffe & Szegedy 2015" in text for text in texts(at.markdown)[1:])


def test_what_is_below_the_first_screen_is_computed_once_it_was_in_sight():
    at = open_lab(opened=())
    assert not at.dataframe
    at.session_state[BELOW_KEY] = True
    at = sound(at.run())
    assert len(at.dataframe) == 1
