"""The page of the lessons without a server: all texts as HTML, which lessons.js shows step by step."""

from collections.abc import Iterable, Mapping
from html import escape

from normviz.classroom.lessons.lesson import Lesson, LessonAnswer, LessonStep
from normviz.classroom.lessons.lesson_markup import format_lesson_html
from normviz.classroom.lessons.teacher_notes import format_teacher_note_html
from normviz.describe.interface_words import DEFAULT_LANGUAGE, Words, fill_words, get_words
from normviz.web.components.twins import HTML as TWINS_HTML
from normviz.web.modules import bundle_modules, read_styles
from normviz.web.plot_message import PLOT_HTML, PLOT_STYLES

STYLES = ("web_page", *PLOT_STYLES, "twins", "inline/page_html", "lessons")

TEMPLATE = """<!doctype html>
<html lang="{language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'self' file: 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>{styles}</style>
</head>
<body>
<main>
<section id="lessons">
<h1>{title}</h1>
<p>{note}</p>
<noscript><p>{no_script}</p></noscript>
<ul>{rows}</ul>
</section>
{lessons}<div id="picture" data-missing="{missing}"></div>
</main>
<template id="plot">{plot}</template>
<template id="twins">{twins}</template>
<script type="module">
{script}</script>
</body>
</html>
"""
"""The page; its policy forbids every request to another host."""


def build_site_page(lessons: Iterable[Lesson], pictures: Mapping[str, str], language: str = DEFAULT_LANGUAGE) -> str:
    """Return the HTML of one page with all lessons, labelled in `language`; `pictures`: picture files by link."""
    lessons, words = list(lessons), get_words("lesson", language)
    return TEMPLATE.format(
        language=language,
        title=words["lessons"],
        missing=escape(words["missing"]),
        note=words["site-note"],
        no_script=words["no-script"],
        styles=read_styles(STYLES),
        rows="".join(_format_row(each, words) for each in lessons),
        lessons="".join(_format_lesson(each, pictures, words) for each in lessons),
        plot=PLOT_HTML,
        twins=TWINS_HTML,
        script=bundle_modules("lessons.js"),
    )


def _format_row(lesson: Lesson, words: Words) -> str:
    length = fill_words(words, "length", minutes=lesson.minutes, count=len(lesson.steps))
    return (
        f'<li><a href="#{lesson.key}/1">{format_lesson_html(lesson.title)}</a> <small>{length}</small>'
        f"<p>{format_lesson_html(lesson.about)}</p><details><summary>{words['teachers']}</summary>"
        f"{format_teacher_note_html(lesson.note, words)}</details></li>\n"
    )


def _format_lesson(lesson: Lesson, pictures: Mapping[str, str], words: Words) -> str:
    steps = "".join(_format_step(lesson, k, pictures, words) for k in range(len(lesson.steps)))
    return f'<article id="{lesson.key}">\n{steps}</article>\n'


def _format_step(lesson: Lesson, k: int, pictures: Mapping[str, str], words: Words) -> str:
    """Return the HTML of step `k`: its place in the lesson, its texts, and its answers with reasons."""
    step, number, count = lesson.steps[k], k + 1, len(lesson.steps)
    picture = pictures.get(step.link, "")
    reveal = pictures.get(step.reveal, picture)
    answers = "".join(_format_answer(each, j) for j, each in enumerate(step.answers, 1))
    return f"""<section id="{lesson.key}/{number}" data-picture="{picture}" data-reveal="{reveal}">
<header><a href="#">{words["lessons"]}</a><h1>{format_lesson_html(lesson.title)}</h1>
<p>{fill_words(words, "step", number=number, count=count)}</p>
<progress max="{count}" value="{number}" aria-hidden="true"></progress></header>
<div class="question"><p>{format_lesson_html(step.text)}</p>
<h2 tabindex="-1">{format_lesson_html(step.question)}</h2></div>
<div class="answers"><ol>{answers}</ol>
<div role="status">{_format_reasons(step, words)}</div></div>
<nav>{_format_step_links(lesson.key, number, count, words)}</nav>
</section>
"""


def _format_answer(answer: LessonAnswer, number: int) -> str:
    data = f'data-answer="{number}" data-sign="{"✓" if answer.is_right else "✗"}"'
    return f'<li><button type="button" {data}>{format_lesson_html(answer.text)}</button></li>'


def _format_reasons(step: LessonStep, words: Words) -> str:
    """Return the HTML of every answer's reason, and of what to look at then, with the interface texts `words`."""
    reasons = "".join(
        f'<p data-reason="{number}"><strong>{words["right" if each.is_right else "wrong"]}</strong> '
        f"{format_lesson_html(each.reason)}</p>"
        for number, each in enumerate(step.answers, 1)
    )
    return f'{reasons}<p class="look"><strong>{words["look"]}</strong> {format_lesson_html(step.look)}</p>'


def _format_step_links(lesson: str, number: int, count: int, words: Words) -> str:
    """Return the HTML of the links to the steps before and after step `number` of `count`, labelled by `words`."""
    before, after = (f"#{lesson}/{k}" if 1 <= k <= count else "#" for k in (number - 1, number + 1))
    following = words["next" if number < count else "finish"]
    return f'<a class="back" href="{before}">{words["back"]}</a><a class="next" href="{after}">{escape(following)}</a>'
