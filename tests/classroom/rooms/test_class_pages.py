"""The lecturer's page: its data, the QR code, and the questions of Table 1 and of the lessons."""

import json
import re
from urllib.parse import parse_qs, urlsplit

import pytest
from lab_page import ROOT
from starlette.applications import Starlette
from starlette.testclient import TestClient
from streamlit.testing.v1 import AppTest

from normviz.classroom.lessons.catalogue import get_lessons
from normviz.classroom.rooms.bodies import PACE_MODES
from normviz.classroom.rooms.cell_question import make_cell_question
from normviz.classroom.rooms.desk import build_desk_data
from normviz.classroom.rooms.join_page import TEMPLATE
from normviz.classroom.rooms.lesson_question import list_lesson_steps, make_lesson_question
from normviz.classroom.rooms.limits import MAX_ANSWER_LENGTH, MAX_ANSWERS, MAX_TEXT_LENGTH
from normviz.classroom.rooms.records import Question, RefusedRequest
from normviz.classroom.rooms.routes import create_class_routes
from normviz.classroom.rooms.state import CASE_TITLES, Page
from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES, get_words
from normviz.web.modules import MODULE_SOURCES

STEPS = [step["key"] for lesson in list_lesson_steps() for step in lesson["steps"]]


@pytest.mark.parametrize("key", STEPS)
def test_the_question_of_a_step_is_that_of_the_lesson(key):
    name, _, number = key.partition(".")
    step = get_lessons()[name].steps[int(number) - 1]
    question = make_lesson_question(key)
    assert step.question.replace("**", "") in question.text
    assert [answer.is_right for answer in step.answers].index(True) == question.right
    assert parse_qs(urlsplit(question.link).query)["lesson"] == [f"{key}.{question.right + 1}"]
    assert Question.from_json(question.to_json()) == question


@pytest.mark.parametrize("question", [*map(make_lesson_question, STEPS), *map(make_cell_question, CASE_TITLES)])
def test_a_question_of_the_app_keeps_the_limits_of_one_that_is_sent(question):
    assert len(question.text) <= MAX_TEXT_LENGTH >= len(question.why) > 0
    assert 2 <= len(question.answers) <= MAX_ANSWERS
    assert max(map(len, question.answers)) <= MAX_ANSWER_LENGTH
    assert question.text.count("\n") == 1
    assert "**" not in question.to_json()


@pytest.mark.parametrize("key", ["", "group-norm", "group-norm.9", "no-lesson.1", "../group-norm.1", "group-norm.0"])
def test_a_step_that_is_none_is_refused(key):
    with pytest.raises(RefusedRequest, match="batch-or-layer"):
        make_lesson_question(key)


def test_the_table_of_the_page_gives_no_answer_away_and_has_every_case_once():
    data = build_desk_data(Page().cell, "", "en")
    cells = [cell for row in data["grid"]["rows"] for cell in row["cells"]]
    assert {cell["key"]: cell["title"] for cell in cells} == CASE_TITLES
    assert all(cell["covered"] for cell in cells)
    assert data["grid"]["colours"]["changed"].startswith("light-dark(#")
    for key, answered in data["cells"].items():
        question = make_cell_question(key)
        assert (answered["right"], answered["why"]) == (question.right, question.why)
    steps = {step["key"]: step["question"] for lesson in data["lessons"] for step in lesson["steps"]}
    assert data["examples"].keys() <= data["cells"].keys() | steps.keys()
    assert all(steps.get(key, text) == text for key, text in data["examples"].items())
    assert json.loads(json.dumps(data)) == data


@pytest.mark.parametrize("link", [{}, {"cell": "layer.case-rescaling"}, {"step": "group-norm.2"}, {"step": "no"}])
def test_the_page_opens_with_any_link(link):
    at = AppTest.from_file(str(ROOT / "pages" / "class.py"), default_timeout=60)
    at.query_params.update(link)
    assert not at.run().exception


@pytest.mark.parametrize(
    ("part", "texts"),
    [
        ("desk", [MODULE_SOURCES[name].decode() for name in ("desk.js", "desk_markup.js")]),
        ("join", [*(MODULE_SOURCES[name].decode() for name in ("join.js", "join_view.js")), TEMPLATE]),
    ],
    ids=["desk", "join"],
)
def test_every_word_is_needed(part, texts):
    by_mode = {*PACE_MODES, *(f"pace-{mode}" for mode in PACE_MODES)}
    unused = [
        name
        for name in {name.removesuffix("-1") for name in get_words(part)} - by_mode
        if not any(re.search(rf'"{name}"|words\.{name}\b|\{{{name}\}}', text) for text in texts)
    ]
    assert unused == []


@pytest.mark.parametrize("language", sorted(LANGUAGES.keys() - {DEFAULT_LANGUAGE}))
def test_the_cases_of_table_1_are_translated_and_no_translation_is_left_over(language):
    words, asked = get_words("table1", language), ""
    for key in CASE_TITLES:
        english, other = make_cell_question(key), make_cell_question(key, language)
        assert other.answers == tuple(get_words("cell", language)[name] for name in ("yes", "no"))
        assert (other.right, other.link) == (english.right, english.link)
        asked += json.dumps([english.text, english.why], ensure_ascii=False).replace("\u00a0", " ")
    english, other = (build_desk_data(Page().cell, "", each)["grid"] for each in (DEFAULT_LANGUAGE, language))
    for name in ("label", "groups", "columns", "rows"):
        asked += json.dumps(english[name], ensure_ascii=False).replace("\u00a0", " ")
        assert other[name] != english[name]
    assert [text for text in words if text not in asked] == []
    assert make_cell_question("group.dataset-rescaling", language) == make_cell_question("group.dataset-rescaling")


@pytest.fixture
def client():
    with TestClient(Starlette(routes=create_class_routes())) as found:
        yield found


def test_the_qr_code_is_a_picture_of_the_address(client):
    picture = client.get("/join/BCDF2345/qr.svg?origin=https://norm.example.edu:8501")
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/svg+xml")
    assert picture.text.startswith("<svg")
    other = client.get("/join/BCDF2346/qr.svg?origin=https://norm.example.edu:8501")
    assert other.text != picture.text


@pytest.mark.parametrize(
    "address",
    [
        "BCDF2345/qr.svg", "BCDF2345/qr.svg?origin=javascript:alert(1)", "BCDF2345/qr.svg?origin=https://a/b",
        "BCDF2345/qr.svg?origin=https://a@b", "no/qr.svg?origin=https://a",
        f"BCDF2345/qr.svg?origin=https://{'a' * 300}",
    ],
)  # fmt: skip
def test_no_other_text_becomes_a_qr_code(client, address):
    assert client.get(f"/join/{address}").status_code == 400
