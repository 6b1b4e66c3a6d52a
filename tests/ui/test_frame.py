"""What stands around every page: its question and its takeaway, and ways on that lead somewhere."""

from itertools import groupby

import pytest
import streamlit as st
from lab_page import ROOT, open_lab, sound, texts
from streamlit.testing.v1 import AppTest
from visitors import PAGES

from normviz.ui.page_texts import PAGE_TEXTS, find_next_page, find_previous_page, translate_page_text

BY_PAGE = {story.page: story for story in PAGE_TEXTS}


def test_every_page_has_a_story_and_the_way_leads_through_all():
    assert sorted("" if page == "tensor_lab" else page for page in BY_PAGE) == PAGES
    way, story = [], PAGE_TEXTS[0]
    for _ in PAGE_TEXTS:
        way.append(story)
        story = find_next_page(story)
    assert (tuple(way), story) == (PAGE_TEXTS, PAGE_TEXTS[0])


def test_the_menu_has_the_pages_in_the_order_of_the_way():
    sections = [story.section for story in PAGE_TEXTS]
    assert [section for section, _ in groupby(sections)] == list(dict.fromkeys(sections))
    assert sections[0] == "Start"
    # 13 topics, and three pages apart: Your model, on a network of the visitor's own, the lessons through all others,
    # and the class that answers from its phones.
    assert len(PAGE_TEXTS) <= 16
    assert max(map(sections.count, sections)) <= 3


@pytest.mark.parametrize("page", BY_PAGE)
def test_a_story_is_whole_and_leads_elsewhere(page):
    story = BY_PAGE[page]
    assert story.question
    assert all(text.endswith((".", "?", "]")) for text in (story.why, story.first, story.takeaway) if text)
    ways = [*story.see]
    assert set(ways) <= BY_PAGE.keys() - {page, find_next_page(story).page}
    assert len(ways) == len(set(ways)) >= 1


def test_the_introduction_of_a_panel_is_whole():
    for story in PAGE_TEXTS:
        for panel in story.panels.values():
            assert panel.question.endswith("?")
            assert panel.why.endswith(".")
            assert (panel.takeaway or story.takeaway).endswith(".")
            assert panel.first.endswith(".") or not panel.first


FRAMED = f"""
import runpy
from normviz.ui.frame import frame_page
from normviz.ui.page_texts import PAGE_TEXTS

with frame_page(next(story for story in PAGE_TEXTS if story.page == "why")):
    runpy.run_path({str(ROOT / "pages" / "why.py")!r})
"""


def open_why(monkeypatch, **link):
    """Open the page on why in its frame, but for the ways on: AppTest runs other pages than the default one bare."""
    monkeypatch.setattr(st, "page_link", lambda *_, **__: None)
    at = AppTest.from_string(FRAMED, default_timeout=60)
    at.query_params.update(link)
    return at.run()


@pytest.mark.parametrize("show", ["learning", "saturation", "history", "saturatoin"])
def test_the_words_around_a_page_belong_to_the_panel_shown(show, monkeypatch):
    story = BY_PAGE["why"]
    said = texts(sound(open_why(monkeypatch, show=show)).markdown)
    words = story.panels.get({"saturatoin": "saturation"}.get(show, show), story)
    headings = [text for text in said if text.startswith("# ")]
    assert headings == [f"# {words.question}\n{words.why}\n\n**Try first:** {words.first}"]
    assert said[-1] == f"**Takeaway.** {words.takeaway}"


def test_a_page_that_fails_before_its_panel_is_known_has_the_words_of_the_page(monkeypatch):
    story = BY_PAGE["why"]
    monkeypatch.delattr("normviz.ui.link.restore_values")
    said = texts(open_why(monkeypatch).markdown)
    assert said[0].startswith(f"# {story.question}")
    assert said[-1] == f"**Takeaway.** {story.takeaway}"


@pytest.mark.parametrize("link", [{}, {"n": "0"}, {"n": "4096", "h": "4096"}], ids=str)
def test_a_page_stands_between_its_question_and_its_takeaway(link):
    story, at = PAGE_TEXTS[0], open_lab("app.py", **link)
    said = texts(at.markdown)
    assert said[0].startswith(f"# {story.question}\n{story.why}")
    assert said[-1] == f"**Takeaway.** {story.takeaway}"
    assert not [text for text in said[1:] if text.startswith("# ")]  # one heading of the first order
    ways = [(link.proto.page, link.proto.label) for link in at.get("page_link")]
    assert ways[0] == (find_next_page(story).page, f"**Next: {find_next_page(story).question}**")
    assert ways[1:] == [*story.see.items()]
    before, behind = open_lab("app.py", present="1", **link).get("page_link")[-2:]  # of a clicker
    assert (before.proto.page, behind.proto.page) == (find_previous_page(story).page, find_next_page(story).page)


def test_only_the_pages_for_teaching_are_translated():
    for story in PAGE_TEXTS:
        other = translate_page_text(story, "de")
        assert translate_page_text(story, "en") == story
        assert (other == story) == (story.section != "Teach")
        assert (other.page, other.section, [*other.see]) == (
            story.page, story.section, [*story.see],
        )  # fmt: skip
        assert find_next_page(other) == find_next_page(story)
