"""Notes for teachers as Markdown for the app, and as HTML for pages without a server."""

from normviz.classroom.lessons.lesson import TeacherNote
from normviz.classroom.lessons.lesson_markup import format_lesson_html, format_lesson_markdown
from normviz.classroom.words import LESSON_WORDS as WORDS


def format_teacher_note(note: TeacherNote) -> str:
    """Format a note as Markdown: goal, misconception, plan, and what is simplified."""
    plan = "\n".join(f"- {format_lesson_markdown(line)}" for line in note.plan)
    return (
        f"**{WORDS['goal']}.** {format_lesson_markdown(note.goal)}\n\n"
        f"**{WORDS['misconception']}.** {format_lesson_markdown(note.misconception)}\n\n"
        f"**{WORDS['plan']}.**\n{plan}\n\n"
        f"**{WORDS['simplified']}.** {format_lesson_markdown(note.simplified)}"
    )


def format_teacher_note_html(note: TeacherNote) -> str:
    """Format a note as HTML, in the same order."""
    plan = "".join(f"<li>{format_lesson_html(line)}</li>" for line in note.plan)
    return (
        f"<p><strong>{WORDS['goal']}.</strong> {format_lesson_html(note.goal)}</p>"
        f"<p><strong>{WORDS['misconception']}.</strong> {format_lesson_html(note.misconception)}</p>"
        f"<p><strong>{WORDS['plan']}.</strong></p><ul>{plan}</ul>"
        f"<p><strong>{WORDS['simplified']}.</strong> {format_lesson_html(note.simplified)}</p>"
    )
