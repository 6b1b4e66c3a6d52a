"""A lesson beside the pages: the bar, its answers, its way forward and back, all of it in the link."""

from dataclasses import replace

import pytest
import streamlit as st
from lab_page import ROOT, open_lab, replaced, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.classroom.lessons.catalogue import read_shipped_lessons
from normviz.classroom.lessons.lesson import LessonPlace
from normviz.classroom.lessons.lesson_links import canonicalize_values, split_page_link
from normviz.classroom.lessons.lesson_markup import format_lesson_markdown
from normviz.classroom.lessons.panels import CONTROLS_KEY
from normviz.describe.interface_words import fill_words, get_words
from normviz.ui.restrictions import HIDDEN_PARTS

LESSONS = read_shipped_lessons()
LINKS = sorted(
    {link for lesson in LESSONS.values() for step in lesson.steps for link in (step.link, step.reveal)} - {""}
)
KEY = next(iter(LESSONS))
LESSON = LESSONS[KEY]


BESIDE = f"""
import runpy
from normviz.classroom.lessons.panels import show_lesson_bar

show_lesson_bar()
runpy.run_path({str(ROOT / "pages" / "tensor_lab.py")!r})
"""


def open_place(text, **link):
    """Open the lab at a place of a lesson; AppTest would run app.py only once."""
    at = AppTest.from_string(BESIDE, default_timeout=60)
    at.query_params.update(link | {"lesson": text})
    return sound(at.run())


def bar(at):
    """What the bar says, before what the page says."""
    return "\n".join(texts(at.markdown)[:3])


@pytest.fixture
def press(monkeypatch):
    """Press a button that opens a link, and open it in the same session, which AppTest does not do by itself."""
    led = []

    def switch(script, query_params):
        led.append(dict(query_params))
        st.stop()

    monkeypatch.setattr("normviz.ui.frame.st.switch_page", switch)

    def press_and_follow(at, key):
        led.clear()
        sound(at.button(key=key).click().run())
        at.query_params.clear()
        at.query_params.update(led[0])
        return sound(at.run()), led[0]

    return press_and_follow


@pytest.mark.parametrize("link", LINKS)
def test_the_link_of_every_step_opens(link):
    page, values = split_page_link(link)
    at = open_lab(f"pages/{page}.py", opened=(), **values)
    assert replaced(at) == []
    assert at.query_params == canonicalize_values(page, values)
    assert [each.value for each in at.error] == []


def test_the_bar_asks_and_takes_the_place_of_the_heading():
    at, step = open_lab("app.py", opened=(), lesson=f"{KEY}.1", scheme="none"), LESSON.steps[0]
    assert format_lesson_markdown(step.question) in bar(at)
    assert next(each.value for each in at.caption) == f"Step 1 of {len(LESSON.steps)}"
    assert [text for text in texts(at.markdown) if text.startswith("# ")] == [f"# {LESSON.title}"]
    labels = [each.label for each in at.button]
    assert labels[: 2 + len(step.answers)] == ["Back", "Next", *(each.text for each in step.answers)]
    assert step.look not in bar(at)


@pytest.mark.parametrize("chosen", range(len(LESSON.steps[0].answers)))
def test_an_answer_has_its_reason_and_opens_what_it_reveals(chosen, press):
    step = LESSON.steps[0]
    at, link = press(open_place(f"{KEY}.1", scheme="none"), f"lesson-answer-{chosen}")
    assert link == {"lesson": f"{KEY}.1.{chosen + 1}"}  # batch norm is the page's default
    assert at.session_state["scheme"] == "batch"
    answer = step.answers[chosen]
    verdict = "Right." if answer.is_right else "Not quite."
    assert f"**{verdict}** {format_lesson_markdown(answer.reason)}" in bar(at)
    assert format_lesson_markdown(step.look) in bar(at)


def test_the_way_leads_forward_and_back_on_one_page(press):
    at, link = press(open_place(f"{KEY}.2.1", n="8"), "lesson-next")
    assert (link, at.session_state["n"]) == ({"lesson": f"{KEY}.3", "scheme": "none"}, 4)
    at, link = press(at, "lesson-answer-1")
    assert (link, at.session_state["scheme"]) == ({"lesson": f"{KEY}.3.2", "scheme": "layer"}, "layer")
    at, link = press(at, "lesson-back")
    assert (link, at.session_state["scheme"]) == ({"lesson": f"{KEY}.2"}, "batch")


def test_reset_returns_to_the_state_of_the_step(monkeypatch):
    toolbar = "normviz.ui.link.show_toolbar"
    monkeypatch.setattr(toolbar, lambda *given: st.button("Reset", key="reset", on_click=given[2]))
    at = open_place("group-norm.2", scheme="group", groups="3", n="2")
    at = sound(at.button(key="reset").click().run())
    assert at.query_params == {"lesson": "group-norm.2", "scheme": "group"}


def test_a_step_hides_the_controls_and_before_the_answer_the_numbers(press):
    def hidden(at):
        style = "".join(each.proto.body for each in at.get("html"))
        return [key for key in HIDDEN_PARTS if HIDDEN_PARTS[key].selectors in style]

    at = open_place(f"{KEY}.1", scheme="none")
    assert hidden(at) == ["sidebar", "tabs", "text", "controls", "answer", "more"]
    assert hidden(sound(at.toggle(key=CONTROLS_KEY).set_value(True).run())) == ["answer"]
    at, link = press(open_place(f"{KEY}.4", scheme="layer"), "lesson-answer-1")
    assert hidden(at) == ["sidebar", "tabs", "text", "controls", "more"]
    assert "hide" not in link  # it would stay hidden on the way out of the lesson
    assert hidden(open_place("what-cancels.8", reveal="1")) == ["sidebar", "tabs", "text", "answer", "first", "more"]


def test_a_presentation_goes_on_with_the_next_step(press):
    _, link = press(open_place("group-norm.1", scheme="layer", present="1"), "lesson-next")
    assert link == {"lesson": "group-norm.2", "scheme": "group", "present": "1"}


def test_the_bar_is_in_the_language_of_the_link_and_goes_on_in_it(press):
    at, link = press(open_place(f"{KEY}.1", scheme="none", lang="de"), "lesson-next")
    assert link == {"lesson": f"{KEY}.2", "lang": "de"}
    steps = {"number": 2, "count": len(LESSON.steps)}
    assert next(each.value for each in at.caption) == fill_words(get_words("lesson", "de"), "step", **steps)
    assert format_lesson_markdown(read_shipped_lessons("de")[KEY].steps[1].question) in bar(at)


def test_an_unknown_language_is_reported():
    at = open_place(f"{KEY}.1", scheme="none", lang="fr")
    assert replaced(at) == ["Language: fr is not one of the choices; English is used."]
    assert next(each.value for each in at.caption).startswith("Step 1")


def test_an_answer_without_a_reveal_leaves_the_page_as_the_student_set_it(monkeypatch):
    still = replace(LESSON, steps=(replace(LESSON.steps[0], reveal=""),))
    monkeypatch.setattr("normviz.classroom.lessons.panels.get_lessons", lambda language="en": {KEY: still})
    at = open_place(f"{KEY}.1", scheme="group", n="2")
    at = sound(at.button(key="lesson-answer-1").click().run())
    assert at.query_params == {"lesson": f"{KEY}.1.2", "scheme": "group", "n": "2"}
    assert "**Right.**" in bar(at)


@pytest.mark.parametrize("text", ["", "nope.1", f"{KEY}.9", f"{KEY}.0", f"{KEY}", f"{KEY}.1.1.1", "x" * 9999, "../a.1"])
def test_a_place_that_no_lesson_has_shows_the_page(text):
    at = open_lab("app.py", opened=(), lesson=text)
    assert texts(at.markdown)[0].startswith("# What does normalization do to a tensor?")
    assert replaced(at) == []


def test_an_answer_that_a_step_does_not_have_is_none():
    assert "Right" not in bar(open_place(f"{KEY}.1.9", scheme="none"))


@pytest.mark.parametrize("place", [LessonPlace("a-1", 0), LessonPlace("b", 7, 2)], ids=str)
def test_a_place_is_read_as_it_is_written(place):
    assert LessonPlace.parse(place.format_for_link()) == place


def test_the_list_has_every_lesson_with_a_note_and_a_handout():
    at = sound(AppTest.from_file(ROOT / "pages/lessons.py", default_timeout=60).run())
    said = "\n".join(texts(at.markdown))
    for lesson in LESSONS.values():
        assert format_lesson_markdown(lesson.title) in said
        assert format_lesson_markdown(lesson.note.misconception) in said
        assert at.button(key=f"start {lesson.key}").label == "Start"
    assert len(at.get("download_button")) == len(LESSONS)


def test_a_link_is_written_as_its_page_writes_it():
    assert canonicalize_values("invariance", {"cell": "batch.dataset-rescaling", "optimizer": "adam"}) == {
        "optimizer": "adam", "rate": "0.01",
    }  # fmt: skip
    assert canonicalize_values("lessons", {"a": "b"}) == {"a": "b"}
