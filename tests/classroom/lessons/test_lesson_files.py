"""Lessons as files: a teacher's own, broken and hostile ones; each mistake has its line."""

import json
import re
import subprocess
import sys

import pytest
from browsing import ROOT

from normviz.classroom.lessons.catalogue import LESSONS_FOLDER, TEMPLATE_PATH, load_lessons, read_shipped_lessons
from normviz.classroom.lessons.handout import build_handout
from normviz.classroom.lessons.handout_figures import draw_step_cubes
from normviz.classroom.lessons.lesson_files import MAX_BYTES, parse_lesson, read_lesson
from normviz.classroom.lessons.lesson_markup import format_lesson_html, format_lesson_markdown
from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES, get_words

TEMPLATE = TEMPLATE_PATH.read_text()
EVIL = "![](http://foreign/t) <script>alert(1)</script> [a](javascript:b) $x$ :smile: `c`"


def mistakes(text):
    """The mistakes of a file's text, without the file's name."""
    with pytest.raises(InvalidInput) as caught:
        parse_lesson(text if isinstance(text, bytes) else text.encode(), "own", "own.toml")
    lines = str(caught.value).splitlines()
    assert all(line.startswith("own.toml:") and len(line) < 400 for line in lines)
    return [line.removeprefix("own.toml:") for line in lines]


def line_of(part):
    return TEMPLATE[: TEMPLATE.index(part)].count("\n") + 1


def changed(part, other):
    assert part in TEMPLATE
    return TEMPLATE.replace(part, other, 1)


@pytest.mark.parametrize(
    ("part", "other", "reason"),
    [
        ('title = "A lesson of your own"', "title = 3", "title: it is a text in quotes."),
        ("minutes = 10", "minutes = 1000", "minutes: it is a whole number from 1 to 90."),
        ("minutes = 10", "minutes = true", "minutes: it is a whole number from 1 to 90."),
        ("right = true", 'right = "yes"', "step 1 answer 2 right: it is true or false."),
        ("reveal =", "revael =", "step 1 revael: this name is unknown; did you mean 'reveal'?"),
        ("plan = [", 'plan = "a" # [', "teacher plan: it is a list of texts."),
        ('"What do you expect?"', '""', "step 1 question: it has 0 characters; 1 to 200 are possible."),
        ('"What do you expect?"', f'"{"x" * 300}"', "step 1 question: it has 300 characters; 1 to 200 are possible."),
        ('"What do you expect?"', r'"a\u202eb"', "step 1 question: it contains a character that cannot be printed."),
        ('"What do you expect?"', r'"a\u0000b"', "step 1 question: it contains a character that cannot be printed."),
        (
            '"/?scheme=batch"',
            '"/?scheme=bacth"',
            "step 1 link: Scheme: bacth is not one of the choices; Batch is used.",
        ),
        ('"/?scheme=batch"', '"/?schme=batch"', "step 1 link: 'schme' is not a setting of the page."),
        ('"/?scheme=batch"', '"/?lesson=own.1"', "step 1 link: 'lesson' is not a setting of the page."),
    ],
)
def test_a_mistake_has_its_line_and_reason(part, other, reason):
    found = mistakes(changed(part, other))
    assert found[0] == f"{line_of(part)}: {reason}"


@pytest.mark.parametrize(
    "link",
    [
        "//foreign/", "javascript:alert(1)", "/lessons", "/nowhere", "compare", "/compare/", "/../x",
        "/readings", "data:text/html,x", "/compare#x", "http://[", "/Compare", "/static/x", "\\\\foreign", "/ compare",
        "https://foreign/",
    ],
)  # fmt: skip
def test_a_link_leads_to_a_page_of_the_app(link):
    (found,) = mistakes(changed('"/?scheme=batch"', json.dumps(link)))
    assert found.startswith(f"{line_of('link = ')}: step 1 link: ")
    assert "not a" in found


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("title = ", r"1: Invalid value"),
        ('title = "a"\ntitle = "b"', r"2: Cannot overwrite a value"),
        (TEMPLATE + "[[step]]\n" * 8, r"step: there are 9; 1 to 8 are possible."),
        (TEMPLATE + "[[step.answer]]\n" * 4, r"step 1 answer: there are 6; 2 to 5 are possible."),
        (TEMPLATE.replace("right = true", ""), r"step 1: no answer is right; write right = true below one of them."),
        ("[" * 30_000, r".+"),
        ("a = " + "[" * 30_000, r".+"),
        ("a = " + "9" * 60_000, r".+"),
        ("x" * (MAX_BYTES + 1), r"the file is larger than 64 KiB."),
        (b"\xff\xfe", r"the file is not UTF-8 text."),
        ("", r"1: “title” is missing."),
        ("step = 3", r"1: step: it is a list of tables"),
        ("step = [3]", r"1: step: it is a list of tables"),
        ("teacher = 3", r"1: teacher: it is a table"),
        (changed("[[step.answer]]", "[step.facts]\na = 3\n[[step.answer]]"), r"step 1 facts: it holds at most 40"),
        ('title.a.b.c.d = "x"', r"1: title: it is a text in quotes."),
    ],
)
def test_a_hostile_file_is_refused(text, reason):
    assert any(re.search(reason, line) for line in mistakes(text)), mistakes(text)


def test_a_missing_name_has_the_line_of_its_table():
    second = TEMPLATE[TEMPLATE.index("[[step]]") :].replace("question =", "asks =")
    found = mistakes(TEMPLATE + second)
    start = TEMPLATE.count("\n")
    assert found == [
        f"{start + second[: second.index('asks')].count(chr(10)) + 1}: step 2 asks: this name is unknown; it may hold "
        "answer, facts, link, look, question, reveal or text.",
        f"{start + 1}: step 2: “question” is missing.",
    ]


def test_every_mistake_is_named_not_only_the_first():
    text = changed("minutes = 10", "minutes = 0").replace("right = true", "").replace("look =", "lok =")
    assert [line.partition(": ")[2] for line in mistakes(text)] == [
        "minutes: it is a whole number from 1 to 90.",
        "step 1 lok: this name is unknown; did you mean 'look'?",
        "step 1: “look” is missing.",
        "step 1: no answer is right; write right = true below one of them.",
    ]


def test_a_text_has_no_markup_but_bold():
    shown = format_lesson_markdown(f"**bold** {EVIL} ** not ** *i*")
    assert shown.startswith("**bold** ")
    assert not re.search(r"(?<!\\)[\[<$`]|(?<!\*)(?<!\\)\*(?!\*)|:smile:", shown.removeprefix("**bold**"))
    html = format_lesson_html(f"**bold** {EVIL}")
    assert html.startswith("<strong>bold</strong> ")
    assert "<script" not in html


def test_a_handout_of_a_hostile_lesson_holds_no_markup_of_its_own():
    lesson = parse_lesson(changed('"What do you expect?"', json.dumps(EVIL)).encode(), "own", "own.toml")
    page = build_handout(lesson)
    assert "<script" not in page
    assert set(re.findall(r"<(\w+)", page)) == set(re.findall(r"<(\w+)", build_handout(read_lesson(TEMPLATE_PATH))))
    assert "&lt;script&gt;" in page


@pytest.mark.parametrize("key", read_shipped_lessons())
def test_a_handout_has_all_questions_and_its_solutions_behind_them(key):
    lesson = read_shipped_lessons()[key]
    page = build_handout(lesson)
    questions, _, solutions = page.partition('<div class="solutions">')
    for step in lesson.steps:
        assert format_lesson_html(step.question) in questions
        assert all(f"<li>{format_lesson_html(each.text)}</li>" in questions for each in step.answers)
        reasons = [format_lesson_html(each.reason) for each in step.answers]
        assert not any(reason in questions for reason in reasons)
        assert [reason in solutions for reason in reasons] == [each.is_right for each in step.answers]
    assert not re.findall(r"(?:src|href)=", page)


@pytest.mark.parametrize(
    ("link", "faces"),
    [
        ("/?scheme=batch", 15 + 3),  # in front and above, besides the orange one
        ("/?scheme=layer", 95 + 5 + 16),  # and at the right
        ("/?scheme=instance", 15),
        ("/?scheme=none", 0),
        ("/identities?panel=variants&h=1&w=1", 5 + 5 + 1 + (5 + 5 + 1) + 0),
    ],
)
def test_a_printed_cube_shows_the_elements_that_share_a_mean(link, faces):
    outlines = re.findall(r'<path d="([^"]*)" fill="#0072b2"', draw_step_cubes(link, get_words("lesson")))
    assert sum(outline.count("M") for outline in outlines) == faces


@pytest.mark.parametrize("link", ["/?n=999&h=64&w=64", "/running", "/identities?row=one-group", "/?scheme=weight"])
def test_a_page_without_a_small_cube_has_no_figure_in_print(link):
    assert draw_step_cubes(link, get_words("lesson")) == ""


def test_a_teachers_own_lessons_come_after_those_of_the_app(tmp_path):
    (tmp_path / "own.toml").write_text(TEMPLATE)
    (tmp_path / "notes.txt").write_text("no lesson")
    (tmp_path / "folder.toml").mkdir()
    lessons = load_lessons({"NORMVIZ_LESSONS": str(tmp_path)})
    assert list(lessons) == [*read_shipped_lessons(), "own"]
    assert lessons["own"].title == "A lesson of your own"
    assert load_lessons({}) == load_lessons({"NORMVIZ_LESSONS": ""}) == read_shipped_lessons()


def test_a_folder_with_broken_lessons_names_all_of_them(tmp_path):
    (tmp_path / "one.toml").write_text("x = ")
    (tmp_path / "Two.toml").write_text(TEMPLATE)
    (tmp_path / "group-norm.toml").write_text(TEMPLATE)
    with pytest.raises(InvalidInput) as caught:
        load_lessons({"NORMVIZ_LESSONS": str(tmp_path)})
    lines = str(caught.value).splitlines()
    assert len(lines) == 3
    assert f"{tmp_path}/one.toml:1: Invalid value." in lines
    with pytest.raises(InvalidInput, match="names a folder of lessons"):
        load_lessons({"NORMVIZ_LESSONS": str(tmp_path / "nowhere")})


def test_a_broken_lesson_ends_the_server_at_its_start(tmp_path):
    (tmp_path / "one.toml").write_text("x = ")
    done = subprocess.run(
        [sys.executable, "-m", "normviz", "serve"], cwd=ROOT, env={"NORMVIZ_LESSONS": str(tmp_path), "PATH": ""},
        capture_output=True, text=True, timeout=60,
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr == f"normviz: {tmp_path}/one.toml:1: Invalid value.\n"


def test_the_command_lists_checks_and_makes_handouts(tmp_path, capsys):
    assert main(["lessons", "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)
    assert [each["key"] for each in listed] == list(read_shipped_lessons())
    assert all(each.keys() == {"key", "title", "steps"} for each in listed)
    steps = [step for each in listed for step in each["steps"]]
    assert all(step.keys() == {"link", "text", "question", "answers"} for step in steps)
    assert main(["lessons", "--template"]) == 0
    own = tmp_path / "own.toml"
    own.write_text(capsys.readouterr().out)
    assert main(["lessons", "--check", str(own)]) == 0
    broken = tmp_path / "broken.toml"
    broken.write_text(changed("minutes = 10", "minutes = 0").replace("right = true", ""))
    capsys.readouterr()
    assert main(["lessons", "--check", str(own), str(broken)]) == 2
    assert len(capsys.readouterr().err.splitlines()) == 2
    assert main(["lessons", "--check", str(tmp_path / "nowhere.toml")]) == 2
    out = tmp_path / "out.html"
    assert main(["lessons", "--handout", "group-norm", str(out)]) == 0
    assert out.read_text() == build_handout(read_shipped_lessons()["group-norm"])
    assert main(["lessons", "--handout", "nowhere", str(out)]) == 2


def test_all_files_are_lessons():
    translations = [path for path in LESSONS_FOLDER.iterdir() if path.is_dir()]
    assert {path.name for path in translations} == LANGUAGES.keys() - {DEFAULT_LANGUAGE}
    for folder in (LESSONS_FOLDER, *translations):
        assert {path.stem for path in folder.glob("*.*")} == set(read_shipped_lessons())
