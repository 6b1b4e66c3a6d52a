"""The picture of a step without a server: what its link shows in the app, in both themes."""

from xml.etree import ElementTree

import pytest

from normviz.charts.palette import THEMES
from normviz.classroom.site.step_parts import format_formulas_html, format_table_html
from normviz.classroom.site.step_pictures import PAGE_PICTURES, draw_step_picture
from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.describe.backward import build_backward_formulas

LINKS = {
    "/?scheme=group&groups=3": ["heading", "cube"],
    "/compare?schemes=batch,layer": ["cubes"],
    "/identities?panel=variants": ["cubes", "below"],
    "/identities?row=one-group&reveal=1": ["heading", "cubes"],
    "/identities?panel=own": ["cubes"],
    "/gradients?back=6": ["chain", "below"],
    "/gradients?show=formula&scheme=rms": ["heading", "incoming", "outgoing", "below"],
    "/gradients?show=jacobian": ["heading", "jacobian"],
    "/geometry?stage=step": ["heading", "space", "below"],
    "/running?mode=inference": ["heading", "batch", "statistics", "stream"],
    "/running?panel=companions": ["companions", "below"],
    "/invariance?cell=batch.case-rescaling&steps=10": ["case"],
    "/invariance?cell=batch.case-rescaling&steps=10&panel=script": ["case", "curves", "below"],
    "/invariance?reveal=1&steps=10": ["table"],
    "/experiments?show=batch-size": ["heading", "sizes", "below"],
    "/experiments?show=batch-size&batch_size_steps=7": [],
    "/gradients?show=answer": [],
    "/claims": [],
}
"""The names of the parts of a link's picture."""


@pytest.mark.parametrize("link", LINKS)
def test_a_picture_has_its_parts_in_both_themes(link):
    parts = draw_step_picture(link)
    assert [part.name for part in parts] == LINKS[link]
    for part in parts:
        assert part.contents.keys() == THEMES.keys()
        assert all(part.contents.values())
        if part.component == "plot":
            assert part.contents["light"] != part.contents["dark"]


def test_every_page_with_a_picture_is_among_them():
    pages = {link.partition("?")[0].strip("/") or "tensor_lab" for link, names in LINKS.items() if names}
    assert pages == PAGE_PICTURES.keys()


def test_an_answer_is_not_in_the_picture_of_its_question():
    case = draw_step_picture("/invariance?cell=batch.case-rescaling&steps=10")
    assert "the losses differ" not in str(case)
    pair = draw_step_picture("/identities?row=one-group")
    assert "= Same" not in str(pair)
    modes = draw_step_picture("/running")
    assert "in inference" not in modes[0].contents["light"]


@pytest.mark.parametrize("link", ["/invariance?width=1024&depth=8&steps=2000&batch=512", "/?n=64&h=64&w=64&c=64"])
def test_what_takes_too_long_is_refused(link):
    with pytest.raises(InvalidInput):
        draw_step_picture(link)


@pytest.mark.parametrize("key", SCHEMES)
def test_formulas_are_well_formed(key):
    html = format_formulas_html([[line.latex for line in build_backward_formulas(SCHEMES[key])]])
    ElementTree.fromstring(html)
    assert html.count("<math") == html.count("</math>") > 0


def test_a_table_escapes_its_texts():
    assert "<b>" not in format_table_html({"<b>": ["<b>"], "second": ["<b>"]})
