"""The lessons as static files: complete, small, without a request to another host, and safe with a teacher's texts."""

import re
from dataclasses import replace
from pathlib import Path

import pytest

from normviz.classroom.lessons.catalogue import TEMPLATE_PATH, read_shipped_lessons
from normviz.classroom.lessons.lesson_files import parse_lesson
from normviz.classroom.lessons.lesson_markup import format_lesson_html
from normviz.classroom.site.site import PAGE_FILE, build_site
from normviz.cli.main import main

MAX_SITE_BYTES = 12_000_000
OTHER_HOST = re.compile(r"""(?:src|href|action|data|url)\s*[=(]\s*["']?\s*(?:https?:)?//""", re.IGNORECASE)
MARKUP = "</p><img src=x onerror=alert(1)><script>alert(2)</script>"


@pytest.fixture(scope="module")
def files() -> dict[str, bytes]:
    return dict(build_site([read_shipped_lessons()["what-is-averaged"]]))


def read_links(page: str) -> set[str]:
    """Return the paths of the pictures that a page names."""
    return set(re.findall(r'data-(?:picture|reveal)="([^"]*)"', page))


def test_every_step_has_its_texts_and_its_picture(files):
    page = files[PAGE_FILE].decode()
    lesson = read_shipped_lessons()["what-is-averaged"]
    assert read_links(page) == files.keys() - {PAGE_FILE, "plotly.js"}
    for number, step in enumerate(lesson.steps, 1):
        assert f'id="what-is-averaged/{number}"' in page
        texts = (step.question, step.look, *(each.reason for each in step.answers))
        assert all(format_lesson_html(text) in page for text in texts)


def test_a_picture_is_stored_once_for_all_steps_that_show_it(files):
    shown = [step for step in read_shipped_lessons()["what-is-averaged"].steps for link in (step.link, step.reveal)]
    assert len(files) - 2 < len(shown)


def test_no_file_names_another_host(files):
    for path, content in files.items():
        assert not OTHER_HOST.search(content.decode()), path
    assert "default-src 'none'" in files[PAGE_FILE].decode()


def test_the_texts_of_a_teacher_are_escaped():
    lesson = parse_lesson(TEMPLATE_PATH.read_bytes(), "own", "own.toml")
    step = lesson.steps[0]
    answers = tuple(replace(each, text=MARKUP, reason=MARKUP) for each in step.answers)
    step = replace(step, text=MARKUP, question=MARKUP, look=MARKUP, answers=answers)
    note = replace(lesson.note, goal=MARKUP, plan=(MARKUP,), misconception=MARKUP, simplified=MARKUP)
    own = replace(lesson, title=MARKUP, about=MARKUP, note=note, steps=(step,))
    page = dict(build_site([own], draw=lambda link: []))[PAGE_FILE].decode()
    assert "&lt;img src=x" in page
    assert "<img" not in page
    assert page.count("<script") == page.count("<script type=")


def test_the_command_writes_a_teachers_own_lesson_too(tmp_path, monkeypatch, capsys):
    own = tmp_path / "own"
    own.mkdir()
    text = TEMPLATE_PATH.read_text()
    text = re.sub(r'^link = ".*"', 'link = "/why"', text, flags=re.MULTILINE)  # a page without a picture there
    (own / "my-lesson.toml").write_text(text)
    monkeypatch.setenv("NORMVIZ_LESSONS", str(own))
    monkeypatch.setattr("normviz.classroom.lessons.catalogue.read_shipped_lessons", lambda language: {})
    out = tmp_path / "deep" / "out"
    assert main(["lessons", "--site", str(out)]) == 0
    page = (out / PAGE_FILE).read_text()
    assert 'id="my-lesson/1"' in page
    assert all((out / path).is_file() for path in read_links(page) if path)
    assert capsys.readouterr().err == "normviz: /why has no picture: this page has none without a server.\n"
    (tmp_path / "file").write_text("")
    assert main(["lessons", "--site", str(tmp_path / "file")]) == 2
    assert re.fullmatch(r"normviz: .*file cannot be written: .*\.\n", capsys.readouterr().err)


@pytest.mark.heavy
def test_all_lessons_together_are_small_and_each_step_has_a_picture(tmp_path: Path):
    files = dict(build_site(read_shipped_lessons().values()))
    assert sum(map(len, files.values())) < MAX_SITE_BYTES
    assert "" not in read_links(files[PAGE_FILE].decode())
