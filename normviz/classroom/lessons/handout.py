"""A lesson as a page to print: questions with room for answers, and the solutions on a page of their own."""

from html import escape

from normviz.classroom.lessons.handout_figures import draw_step_cubes
from normviz.classroom.lessons.lesson import Lesson, LessonStep
from normviz.classroom.lessons.lesson_links import make_step_link
from normviz.classroom.lessons.lesson_markup import format_lesson_html
from normviz.describe.interface_words import DEFAULT_LANGUAGE, Words, fill_words, get_words

STYLE = """
@page { size: A4; margin: 18mm; }
body { font: 11pt/1.45 "DejaVu Sans", Verdana, sans-serif; max-width: 46rem; margin: 1rem auto; padding: 0 1rem;
  color: #14181d; background: #fff; print-color-adjust: exact; }
h1 { font-size: 1.5rem; margin: 0; }
p { margin: 0.2rem 0; }
figure { float: right; margin: 0.4rem 0 0.4rem 1rem; }
svg text { font: 11px "DejaVu Sans", Verdana, sans-serif; }
header { display: flex; justify-content: space-between; gap: 2rem; border-bottom: 2px solid #0072b2; }
header span { flex: 0 0 40%; }
section { break-inside: avoid; display: flow-root; margin-top: 1.2rem; }
ul { list-style: "☐  "; margin: 0.4rem 0; padding-left: 1.6rem; }
code { font-size: 0.85rem; overflow-wrap: anywhere; }
.room { height: 4.2rem; border-bottom: 1px dotted #6b7480; color: #4a525c; }
.solutions { break-before: page; border-top: 2px solid #0072b2; margin-top: 3rem; }
@media print { body { margin: 0; padding: 0; } .solutions { border: 0; margin: 0; } }
"""


def build_handout(lesson: Lesson, language: str = DEFAULT_LANGUAGE) -> str:
    """Return the handout of a lesson as one self-contained HTML page; `language`: of headings and labels."""
    title, words = escape(lesson.title), get_words("lesson", language)
    steps = "".join(_format_question(number, step, words) for number, step in enumerate(lesson.steps, 1))
    solutions = "".join(_format_solution(number, step, words) for number, step in enumerate(lesson.steps, 1))
    return f"""<!doctype html>
<html lang="{language}">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>{title}</title>
<style>{STYLE}</style></head>
<body>
<header><h1>{title}</h1><span>{words["name"]}:</span></header>
<p>{format_lesson_html(lesson.about)}</p>
{steps}<div class="solutions"><h1>{words["solutions"]}: {title}</h1>
{solutions}</div>
</body>
</html>
"""


def _format_question(number: int, step: LessonStep, words: Words) -> str:
    answers = "".join(f"<li>{format_lesson_html(each.text)}</li>" for each in step.answers)
    figure = _format_figure(step.link, words)
    return f"""<section>{figure}<p><strong>{number}.</strong> {format_lesson_html(step.text)}</p>
<p><strong>{format_lesson_html(step.question)}</strong></p>
<ul>{answers}</ul>
<p class="room">{words["your-answer"]}</p>
<p>{fill_words(words, "page", link=f"<code>{escape(make_step_link(step))}</code>")}</p></section>
"""


def _format_solution(number: int, step: LessonStep, words: Words) -> str:
    right = "".join(
        f"<p><strong>{format_lesson_html(each.text)}</strong>: {format_lesson_html(each.reason)}</p>"
        for each in step.answers
        if each.is_right
    )
    return f"""<section>{_format_figure(step.reveal, words)}<p>{number}. {format_lesson_html(step.question)}</p>
{right}<p>{words["look"]} {format_lesson_html(step.look)}</p></section>
"""


def _format_figure(link: str, words: Words) -> str:
    cubes = draw_step_cubes(link, words) if link else ""
    return f"<figure>{cubes}</figure>\n" if cubes else ""
