"""Notes for teachers as Markdown for the app, and as HTML for pages without a server."""

from normviz.classroom.lessons.lesson import TeacherNote
from normviz.classroom.lessons.lesson_markup import format_lesson_html, format_lesson_markdown
from normviz.describe.interface_words import Words


def format_teacher_note(note: TeacherNote, words: Words) -> str:
    """Format a note as Markdown: goal, misconception, plan, simplifications; `words`: the labels of these."""
    plan = "\n".join(f"- {format_lesson_markdown(line)}" for line in note.plan)
    return (
        f"**{words['goal']}.** {format_lesson_markdown(note.goal)}\n\n"
        f"**{words['misconception']}.** {format_lesson_markdown(note.misconception)}\n\n"
        f"**{words['plan']}.**\n\n{plan}\n\n"
        f"**{words['simplified']}.** {format_lesson_markdown(note.simplified)}"
    )


def format_teacher_note_html(note: TeacherNote, words: Words) -> str:
    """Format a note as HTML: goal, misconception, plan, simplifications, with the headings in `words`."""
    plan = "".join(f"<li>{format_lesson_html(line)}</li>" for line in note.plan)
    return (
        f"<p><strong>{words['goal']}.</strong> {format_lesson_html(note.goal)}</p>"
        f"<p><strong>{words['misconception']}.</strong> {format_lesson_html(note.misconception)}</p>"
        f"<p><strong>{words['plan']}.</strong></p><ul>{plan}</ul>"
        f"<p><strong>{words['simplified']}.</strong> {format_lesson_html(note.simplified)}</p>"
    )
