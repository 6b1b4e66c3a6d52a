"""The bar of a lesson over the page that it opens, and the list of lessons."""

import streamlit as st

from normviz.classroom.lessons.catalogue import get_lessons
from normviz.classroom.lessons.handout import build_handout
from normviz.classroom.lessons.lesson import LESSON_PARAM, Lesson, LessonPlace, LessonStep
from normviz.classroom.lessons.lesson_links import canonicalize_values, split_step_link
from normviz.classroom.lessons.lesson_markup import format_lesson_markdown
from normviz.classroom.lessons.page_notes import read_page_notes
from normviz.classroom.lessons.teacher_notes import format_teacher_note
from normviz.describe.interface_words import Words, fill_words, get_words
from normviz.ui.frame import show_language_choice, switch_to_page
from normviz.ui.link import RESET_LINK_KEY, get_language, trust_link
from normviz.ui.page_texts import PAGE_TEXTS, translate_page_text
from normviz.ui.restrictions import build_restriction_style

PLACE_KEY = "lesson place"
"""Session key of the last place in a lesson, as text for a link."""

CONTROLS_KEY = "lesson controls"
"""Session key that is True while a visitor has the sidebar shown beside steps that hide it."""

LIST_PAGE = "lessons"
"""Name of the script of the page that lists the lessons."""

get_lessons()  # a broken file ends the server at its start, not with the first visitor


def find_place(text: str | None) -> LessonPlace | None:
    """Return the place that a text names, without an answer that the step lacks; None if no lesson has the place."""
    place = LessonPlace.parse(text or "")
    lesson = place and get_lessons().get(place.key)
    if place is None or lesson is None or place.step >= len(lesson.steps):
        return None
    has_answer = place.answer is not None and place.answer < len(lesson.steps[place.step].answers)
    return place if has_answer else place._replace(answer=None)


def make_place_link(place: LessonPlace | None) -> tuple[str, dict[str, str]]:
    """Return the page's script name and URL parameters for a place in a lesson; None stands for the list of lessons."""
    if place is None:
        return LIST_PAGE, {}
    page, values, _ = split_step_link(get_lessons()[place.key].steps[place.step], place.answer is not None)
    return page, canonicalize_values(page, values) | {LESSON_PARAM: place.format_for_link()}


def show_lesson_bar() -> bool:
    """Show the bar of the lesson that the page's URL names; return True if it names one."""
    place = find_place(st.query_params.get(LESSON_PARAM))
    st.session_state[RESET_LINK_KEY] = {} if place is None else make_place_link(place)[1]
    if place is None:
        return False
    if st.session_state.get(PLACE_KEY) != place.format_for_link():
        st.session_state[PLACE_KEY] = place.format_for_link()
        st.session_state["page"] = None  # the page then trusts the link, as if it came from another page
        trust_link(st.query_params.to_dict())
    language = get_language()
    lesson, words = get_lessons(language)[place.key], get_words("lesson", language)
    step = lesson.steps[place.step]
    with st.container(key="lesson", gap="xsmall"):
        _show_title(lesson, place, words)
        st.markdown(f"{format_lesson_markdown(step.text)}  \n**{format_lesson_markdown(step.question)}**")
        _show_answers(step, place, words)
    page, _, hidden = split_step_link(step, place.answer is not None)
    shown = [part for part in hidden if part == "answer" or not st.session_state[CONTROLS_KEY]]
    st.html(f"<style>{build_restriction_style(page, '', shown, ())}</style>")
    return True


def _show_title(lesson: Lesson, place: LessonPlace, words: Words) -> None:
    number, count = place.step + 1, len(lesson.steps)
    before = LessonPlace(place.key, place.step - 1) if place.step else None
    after = LessonPlace(place.key, place.step + 1) if number < count else None
    with st.container(horizontal=True, vertical_alignment="center", gap="small", key="lesson-title"):
        st.markdown(f"# {format_lesson_markdown(lesson.title)}", width="content")
        st.caption(fill_words(words, "step", number=number, count=count), width="content")
        with st.container(horizontal=True, gap="small", width="content", key="lesson-turns"):  # toolbar.js presses them
            went_back = st.button(words["back"], key="lesson-back", shortcut="B")
            went_on = st.button(
                words["next" if after else "finish"], key="lesson-next", shortcut="N",
                type="secondary" if place.answer is None else "primary",
            )  # fmt: skip
        st.toggle(words["controls"], key=CONTROLS_KEY)
    if went_back or went_on:
        switch_to_page(*make_place_link(after if went_on else before))


def _show_answers(step: LessonStep, place: LessonPlace, words: Words) -> None:
    """Show the answers to choose from, and the reason for `place.answer`, with the interface texts `words`."""
    with st.container(horizontal=True, gap="small", key="lesson-answers"):
        for k, answer in enumerate(step.answers):
            is_chosen = k == place.answer
            icon = (":material/check:" if answer.is_right else ":material/close:") if is_chosen else None
            if st.button(
                format_lesson_markdown(answer.text), key=f"lesson-answer-{k}", icon=icon, wrap=True,
                type="primary" if is_chosen else "secondary", shortcut=str(k + 1),
            ):  # fmt: skip
                _reveal_answer(step, place._replace(answer=k))
    reason = ""
    if place.answer is not None:
        chosen = step.answers[place.answer]
        verdict = words["right" if chosen.is_right else "wrong"]
        reason = f"**{verdict}** {format_lesson_markdown(chosen.reason)}  \n"
        reason += f"**{words['look']}** {format_lesson_markdown(step.look)}"
    with st.container(key="lesson-reason"):  # before the answer it has the height of two lines
        st.markdown(reason)


def _reveal_answer(step: LessonStep, place: LessonPlace) -> None:
    """Open the step's `reveal` link, if any, or rerun the page; `place` has the chosen answer and goes into the URL."""
    if step.reveal:
        switch_to_page(*make_place_link(place))
    st.query_params[LESSON_PARAM] = st.session_state[PLACE_KEY] = place.format_for_link()
    st.rerun()


def show_lesson_list() -> None:
    """Show a row for each lesson with its length and a note for teachers."""
    last = find_place(st.session_state.get(PLACE_KEY)) or LessonPlace(next(iter(get_lessons())))
    language = get_language()
    show_language_choice()
    with st.container(key="lessons"):
        for lesson in get_lessons(language).values():
            _show_lesson_row(lesson, last, language)
    _show_page_notes(language)


def _show_lesson_row(lesson: Lesson, last: LessonPlace, language: str) -> None:
    """Show a lesson's row in the list; it continues at `last` if this place is in the lesson."""
    place = LessonPlace(lesson.key, last.step if last.key == lesson.key else 0)
    with st.container(horizontal=True, vertical_alignment="center", gap="small"):
        words = get_words("lesson", language)
        length = fill_words(words, "length", minutes=lesson.minutes, count=len(lesson.steps))
        title, about = format_lesson_markdown(lesson.title), format_lesson_markdown(lesson.about)
        st.markdown(f"**{title}** :gray[{length}]  \n{about}", width="stretch")
        with st.popover(words["teachers"], width="content"):
            _show_teacher_note(lesson, language)
        label = fill_words(words, "resume" if place.step else "start", number=place.step + 1)
        if st.button(label, key=f"start {lesson.key}", type="primary" if last.key == lesson.key else "secondary"):
            switch_to_page(*make_place_link(place))


def _show_page_notes(language: str) -> None:
    words, notes = get_words("lesson", language), read_page_notes(language)
    titles = {text.page: translate_page_text(text, language).title for text in PAGE_TEXTS}
    with st.expander(words["page-notes"]):
        page = st.selectbox(words["page-name"], list(notes), format_func=titles.__getitem__)
        st.markdown(format_teacher_note(notes[page], words))


def _show_teacher_note(lesson: Lesson, language: str) -> None:
    words = get_words("lesson", language)
    st.markdown(format_teacher_note(lesson.note, words))
    st.download_button(
        words["handout"], lambda: build_handout(lesson, language), f"{lesson.key}.html", "text/html", on_click="ignore",
        key=f"handout {lesson.key}",
    )  # fmt: skip
    if st.button(words["ask"], key=f"ask {lesson.key}", icon=":material/groups:"):
        switch_to_page("class", {"step": LessonPlace(lesson.key).format_for_link()})
