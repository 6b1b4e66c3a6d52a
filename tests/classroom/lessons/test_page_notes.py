"""The notes for teachers: every page has one in every language, short and complete, and every lesson, too."""

import re

import pytest

from normviz.classroom.lessons.catalogue import read_shipped_lessons
from normviz.classroom.lessons.page_notes import read_page_notes
from normviz.describe.interface_words import LANGUAGES
from normviz.ui.page_texts import PAGE_TEXTS

NOTES = [
    pytest.param(note, id=f"{language}.{key}")
    for language in LANGUAGES
    for key, note in [
        *read_page_notes(language).items(),
        *((key, lesson.note) for key, lesson in read_shipped_lessons(language).items()),
    ]
]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_page_has_a_note(language):
    """Except the page that shows the notes."""
    assert list(read_page_notes(language)) == [text.page for text in PAGE_TEXTS if text.page != "lessons"]


@pytest.mark.parametrize("note", NOTES)
def test_a_note_has_a_plan_by_the_minute_and_short_sentences(note):
    minutes = [int(re.match(r"Minute (\d+): ", line)[1]) for line in note.plan]
    assert minutes[0] == 0
    assert minutes == sorted(set(minutes))
    assert 6 <= minutes[-1] <= 10
    texts = [note.goal, *note.plan, note.misconception, note.simplified]
    assert all(text.endswith((".", "?", ".”", ".“")) for text in texts)
    sentences = [sentence for text in texts for sentence in re.split(r"(?<=[.?:])\s", text)]
    assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []
