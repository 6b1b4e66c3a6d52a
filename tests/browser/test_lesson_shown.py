"""A lesson is played beside the pages by keys and by a clicker, and its place is in the link."""

from urllib.parse import parse_qs, urlsplit

import pytest
from looks import barriers
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.classroom.lessons.catalogue import read_shipped_lessons
from normviz.classroom.lessons.handout import build_handout
from normviz.describe.interface_words import LANGUAGES

KEY = "what-is-averaged"


def test_a_lesson_is_played_by_keys_and_by_a_clicker(page, server):
    def at(place, **link):
        wanted = {"lesson": [f"{KEY}.{place}"]} | {name: [each] for name, each in link.items()}
        soon(page, lambda: parse_qs(urlsplit(page.url).query) == wanted)
        expect(page.get_by_role("heading", level=2)).to_have_count(0)  # what a step says is in its bar
        settle(page)

    visit(page, f"{server}/lessons")
    page.locator(".st-key-lessons").get_by_role("button", name="Start", exact=True).first.click()
    at("1", scheme="none")
    expect(page.get_by_role("heading", level=1)).to_have_text(["What is averaged?"])
    expect(page.locator(".st-key-lesson")).not_to_contain_text("Look:")
    graph = page.locator(".st-key-cube .nv-graph")
    place = graph.bounding_box()
    page.keyboard.press("2")
    at("1.2")
    expect(page.locator(".st-key-lesson")).to_contain_text("Right.")
    assert graph.bounding_box() == place  # the answer has room above it
    page.keyboard.press("n")
    at("2")
    page.keyboard.press("n")
    at("3", scheme="none")
    page.keyboard.press("2")
    at("3.2", scheme="layer")
    assert barriers(page) == []
    page.evaluate("history.back()")
    at("3", scheme="none")
    page.keyboard.press("b")
    at("2")
    page.locator(".st-key-toolbar").get_by_role("button", name="Present", exact=True).click()
    at("2", present="1")
    page.keyboard.press("PageDown")
    at("3", scheme="none", present="1")
    page.keyboard.press("PageUp")
    at("2", present="1")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_handout_has_no_barriers(page, language):
    page.goto("about:blank")
    page.set_content(build_handout(read_shipped_lessons(language)[KEY], language))
    assert barriers(page) == []


def test_a_screen_reader_is_told_the_language_of_a_lesson(page, server):
    visit(page, f"{server}/lessons?lang=de")
    for part in ("story", "lessons", "takeaway"):
        expect(page.locator(f".st-key-{part}")).to_have_attribute("lang", "de")
    page.locator(".st-key-lessons").get_by_role("button", name="Starten", exact=True).first.click()
    expect(page.locator(".st-key-lesson")).to_have_attribute("lang", "de")
    expect(page.get_by_role("heading", level=1)).to_have_text(["Worüber wird gemittelt?"])
    settle(page)


def test_on_a_phone_the_picture_keeps_its_place_when_the_answer_comes(phone, server):
    visit(phone, f"{server}/geometry?lesson=two-projections.3")
    graph = phone.locator(".st-key-space .nv-plot[data-drawn] .nv-graph")
    expect(graph).to_be_visible()
    settle(phone)
    place = graph.bounding_box()["y"]
    phone.get_by_role("button", name="It becomes shorter", exact=True).tap()
    expect(phone.locator(".st-key-lesson-reason")).to_contain_text("Look:")
    soon(phone, lambda: abs(graph.bounding_box()["y"] - place) < 2)
    following = phone.get_by_role("button", name="Next", exact=True)
    expect(following).to_be_in_viewport(ratio=1)
    following.tap()
    expect(phone.get_by_role("heading", level=1)).to_be_in_viewport(ratio=1)
