"""The order of the lab's controls, and what stands under "Advanced"."""

import pytest
from lab_page import open_lab, pick, sound, texts


def labels(at):
    """The labels of the sidebar's controls, from top to bottom, without those under "Advanced"."""
    inside = {id(each) for block in at.expander for each in block}
    return [each.label for each in at.sidebar if getattr(each, "label", "") and id(each) not in inside]


def advanced(at):
    """Whether the expander is open, and the keys of its controls."""
    (block,) = [each for each in at.expander if each.label == "Advanced"]
    return block.proto.expanded, [each.key for each in block if getattr(each, "key", None)]


def test_shape_comes_first_then_the_scheme_then_data():
    at = open_lab(scheme="group", groups="2")
    assert labels(at) == [
        *("Shape", "N batch", "H height", "W width", "C channels"),
        *("Normalization", "More normalizations", "Groups G (divisors of C = 6)", "Data"),
    ]
    assert "4\u00a0×\u00a04\u00a0×\u00a04\u00a0×\u00a06 = 384 elements" in texts(at.sidebar.caption)


def test_advanced_is_closed_at_first_and_holds_the_rest():
    is_open, keys = advanced(open_lab())
    assert (is_open, keys) == (False, ["eps", "gain", "bias", "seed"])


@pytest.mark.parametrize(
    "link",
    [{"eps": "0.1"}, {"gain": "2"}, {"seed": "3"}, {"scheme": "custom"}, {"scheme": "divisive", "over": "HW"}],
    ids=str,
)
def test_a_link_that_sets_something_advanced_opens_it(link):
    assert advanced(open_lab(**link))[0]


@pytest.mark.parametrize(
    "link", [{"groups": "3", "scheme": "group"}, {"scheme": "none", "gain": "2"}, {"n": "8"}], ids=str
)
def test_other_links_leave_it_closed(link):
    assert not advanced(open_lab(**link))[0]


def test_it_stays_open_once_something_in_it_was_changed():
    at = open_lab()
    for value in (2.0, 1.0):
        sound(at.number_input(key="gain").set_value(value).run())
        assert advanced(at)[0]


def test_own_fields_are_in_sight_once_a_scheme_of_ones_own_is_chosen():
    at = open_lab()
    pick(at, "custom")
    is_open, keys = advanced(at)
    assert is_open
    assert {"centre", "divide", "a_n", "front"} <= set(keys)
