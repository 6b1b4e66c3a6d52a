"""Write the notes for teachers into docs/teaching.md: `.venv/bin/python docs/page_notes.py`.

The notes themselves stand in normviz/classroom/lessons/notes_on_pages, where the page Lessons reads them, too.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
from normviz.classroom.lessons.page_notes import read_page_notes
from normviz.classroom.lessons.teacher_notes import format_teacher_note
from normviz.describe.interface_words import get_words
from normviz.ui.page_texts import PAGE_TEXTS

PATH = Path(__file__).with_name("teaching.md")
HEADING = "## Notes on the pages\n"


def write_notes(text: str) -> str:
    """Return the text of docs/teaching.md with the notes of today below their heading."""
    titles, words = {each.page: each.title for each in PAGE_TEXTS}, get_words("lesson")
    notes = (f"### {titles[page]}\n\n{format_teacher_note(note, words)}\n" for page, note in read_page_notes().items())
    return "\n".join([text.partition(HEADING)[0] + HEADING, *notes])


if __name__ == "__main__":
    PATH.write_text(write_notes(PATH.read_text()))
