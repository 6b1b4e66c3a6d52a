"""How a cube is looked at, as a link has it: any text becomes a camera, gaps and a cut that fit the shape."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from normviz.topics.lab.state import PARAMS
from normviz.ui.link import clean_values

TEXTS = st.text(max_size=20) | st.lists(st.integers(-400, 400) | st.floats(), max_size=6).map(
    lambda values: ",".join(map(str, values))
)


def view_of(**raw):
    return clean_values(PARAMS, raw)


@pytest.mark.parametrize(
    ("given", "found"),
    [
        ({"camera": "30,-20"}, (30, -20, 1)),
        ({"camera": "30,-20,1.234"}, (30, -20, 1.23)),
        ({"camera": "500,95,0"}, (180, 89, 0.05)),
        ({"camera": "over there"}, ()),
        ({}, ()),
        ({"gaps": "c,fields,x"}, ("fields", "c")),
        ({"cut": "1,9,0,2", "n": "4", "h": "4", "w": "4", "c": "2"}, (1, 3, 0, 1)),
        ({"cut": "2"}, (2, 0, 0, 0)),
    ],
)
def test_the_nearest_way_to_look(given, found):
    name = next(iter(given), "camera")
    view, notes = view_of(**given)
    assert view[name] == found
    assert (name in notes) == (bool(given) and given[name] != ",".join(f"{v:g}" if v != str(v) else v for v in found))


@given(camera=TEXTS, gaps=TEXTS, cut=TEXTS)
def test_a_link_is_read_again_as_it_was_written(camera, gaps, cut):
    view, _ = view_of(camera=camera, gaps=gaps, cut=cut)
    written = {p.name: p.format_for_link(view[p.name]) for p in PARAMS if p.name in ("camera", "gaps", "cut")}
    again, notes = view_of(**written)
    assert {name: again[name] for name in written} == {name: view[name] for name in written}
    assert not notes
