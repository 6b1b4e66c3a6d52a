"""The routes of classes, as a phone and a lecturer use them, and as somebody does who means harm."""

import json
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from html import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from starlette.applications import Starlette
from starlette.testclient import TestClient

from normviz.classroom.rooms import class_watch, limits, routes
from normviz.classroom.rooms.codes import CODE_LENGTH, CODE_LETTERS, normalize_code
from normviz.classroom.rooms.database import CLASSES, Database, read_database_url
from normviz.classroom.rooms.join_page import build_join_page
from normviz.classroom.rooms.lesson_question import make_lesson_question
from normviz.classroom.rooms.rate_limit import RateLimit
from normviz.classroom.rooms.rooms import Rooms
from normviz.classroom.rooms.routes import ACTIONS, create_class_routes
from normviz.classroom.rooms.store import ClassStore
from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.describe.interface_words import LANGUAGES, get_words
from normviz.topics.table1.state import FIRST_ROWS


@pytest.fixture
def client(tmp_path) -> Iterator[TestClient]:
    """A client of a server that has nothing but classes."""
    databases = []

    def open_store() -> ClassStore:
        databases.append(Database(read_database_url({"NORMVIZ_DATABASE": f"sqlite:///{tmp_path / 'classes.sqlite'}"})))
        return ClassStore(databases[-1])

    with TestClient(Starlette(routes=create_class_routes(Rooms(open_store)))) as found:
        yield found
    for each in databases:
        each.close()


class Lecturer:
    """A class that was opened, with what its lecturer sends."""

    def __init__(self, client: TestClient) -> None:
        self.client = client
        opened = client.post("/class")
        assert opened.status_code == 200
        self.code, secret = opened.json()["code"], opened.json()["secret"]
        self.headers = {"X-Class-Secret": secret}

    def post(self, name: str, **body):
        return self.client.post(f"/class/{self.code}/{name}", json=body, headers=self.headers)

    def answer(self, device, choice):
        return self.client.post(f"/class/{self.code}/answer", json={"device": device, "choice": choice})

    @property
    def state(self) -> dict:
        return self.client.get(f"/class/{self.code}").json()

    @property
    def results(self) -> dict:
        return self.client.get(f"/class/{self.code}/results", headers=self.headers).json()


@pytest.fixture
def lecturer(client) -> Lecturer:
    return Lecturer(client)


def is_refusal(response) -> bool:
    """Whether a response refuses in one line that says why."""
    reason = response.json()["error"]
    return 400 <= response.status_code < 500 and bool(reason) and "\n" not in reason and len(response.json()) == 1


def test_a_class_from_a_cell_of_table_1_to_its_end(lecturer):
    assert lecturer.post("question", cell="batch.dataset-rescaling").json() == {"number": 1}
    assert len(lecturer.state["question"]["answers"]) == 2
    for device, choice in (("a", 0), ("b", 0), ("c", 1), ("c", 0), ("d", 1)):
        assert lecturer.answer(device, choice).json() == {"choice": choice}
    assert (lecturer.results["counts"], lecturer.results["closed"]) == ([3, 1], False)
    assert "right" not in lecturer.state
    assert lecturer.post("close").status_code == 200
    assert lecturer.answer("e", 0).status_code == 409
    assert lecturer.post("reveal").status_code == 200
    assert (lecturer.state["right"], lecturer.state["counts"], lecturer.state["closed"]) == (0, [3, 1], True)
    assert "standard deviation" in lecturer.state["why"]
    assert lecturer.post("end").status_code == 200
    assert is_refusal(lecturer.answer("a", 0))
    assert lecturer.client.get(f"/class/{lecturer.code}").status_code == 404


@pytest.mark.parametrize("scheme", FIRST_ROWS)
def test_the_answer_of_a_cell_is_that_of_the_paper(lecturer, scheme):
    for change in TRANSFORMATIONS:
        assert lecturer.post("question", cell=f"{scheme}.{change}").status_code == 200
        lecturer.post("reveal")
        said = PAPER_TABLE.get(scheme)
        assert lecturer.state["right"] == (1 if said is None or not said[list(TRANSFORMATIONS).index(change)] else 0)
        assert lecturer.state["why"]


def test_every_scheme_can_be_asked_about_or_says_why_not(lecturer):
    for scheme in SCHEMES:
        response = lecturer.post("question", cell=f"{scheme}.case-rescaling")
        assert response.status_code == 200 or is_refusal(response), scheme


def test_a_class_that_answers_at_once_is_counted_once(lecturer):
    lecturer.post("question", text="Which?", answers=["a", "b", "c"])
    devices = [f"device {k % 100}" for k in range(300)]
    with ThreadPoolExecutor(16) as threads:
        found = list(threads.map(lambda device: lecturer.answer(device, int(device[7:]) % 3).status_code, devices))
    assert set(found) == {200}
    assert lecturer.results["counts"] == [34, 33, 33]


def test_a_student_hears_of_a_change_at_once(lecturer, monkeypatch):
    monkeypatch.setattr(class_watch, "POLL_SECONDS", 60.0)  # so long does nobody look for changes of other servers
    version = lecturer.state["version"]
    with ThreadPoolExecutor(4) as threads:
        waiting = [threads.submit(lecturer.client.get, f"/class/{lecturer.code}?after={version}") for _ in range(4)]
        time.sleep(0.2)
        assert not any(each.done() for each in waiting)
        start = time.monotonic()
        lecturer.post("question", text="Which?", answers=["a", "b"])
        assert [each.result().json()["number"] for each in waiting] == [1] * 4
        assert time.monotonic() - start < class_watch.WAIT_SECONDS / 4
        waiting = threads.submit(lecturer.client.get, f"/class/{lecturer.code}?after={lecturer.state['version']}")
        time.sleep(0.2)
        lecturer.post("end")
        assert waiting.result().status_code == 404


def test_a_student_hears_of_a_change_of_another_server(lecturer, tmp_path, monkeypatch):
    other = Database(read_database_url({"NORMVIZ_DATABASE": f"sqlite:///{tmp_path / 'classes.sqlite'}"}))
    with ThreadPoolExecutor(1) as threads:
        waiting = threads.submit(lecturer.client.get, f"/class/{lecturer.code}?after={lecturer.state['version']}")
        time.sleep(0.2)
        ClassStore(other).end_class(lecturer.code, lecturer.headers["X-Class-Secret"])
        start = time.monotonic()
        assert waiting.result().status_code == 404
        assert time.monotonic() - start < class_watch.WAIT_SECONDS / 2
    other.close()


def test_a_wait_ends_without_a_change(lecturer, monkeypatch):
    monkeypatch.setattr(class_watch, "WAIT_SECONDS", 0.1)
    state = lecturer.state
    assert lecturer.client.get(f"/class/{lecturer.code}?after={state['version']}").json() == state


@pytest.mark.parametrize("name", [*ACTIONS, "results"])
def test_only_the_secret_opens_what_is_the_lecturers(client, lecturer, name):
    lecturer.post("question", text="Which?", answers=["a", "b"])
    method = "GET" if name == "results" else "POST"
    for headers in ({}, {"X-Class-Secret": ""}, {"X-Class-Secret": lecturer.headers["X-Class-Secret"][:-1]}):
        body = {"text": "?", "answers": ["a", "b"], "mode": "free"}
        response = client.request(method, f"/class/{lecturer.code}/{name}", json=body, headers=headers)
        assert is_refusal(response)
        assert response.status_code == (400 if name in ("answer", "snapshot") else 403)
    assert lecturer.state["number"] == 1


def test_a_page_of_another_site_uses_a_class_only_with_its_secret(client, lecturer):
    elsewhere = {"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"}
    lecturer.post("question", text="Which?", answers=["a", "b"])
    assert client.post("/class", headers=elsewhere).status_code == 403
    body = {"device": "a", "choice": 0}
    assert client.post(f"/class/{lecturer.code}/answer", json=body, headers=elsewhere).status_code == 403
    closed = client.post(f"/class/{lecturer.code}/close", headers=elsewhere | lecturer.headers)
    assert closed.status_code == 200
    assert not [name for name in closed.headers if name.startswith("access-control")]
    assert lecturer.results["counts"] == [0, 0]


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b"null", b"\xff", b"[" * 10_000, b'{"device": "a"}', b'{"device": "a", "choice": true}',
        b'{"device": "a", "choice": 0.0}', b'{"device": "a", "choice": NaN}', b'{"device": "", "choice": 0}',
        b'{"device": ["a"], "choice": 0}', b'{"device": "\\ud800", "choice": 0}', b'{"device": "a", "choice": 9}',
        b'{"device": "a", "choice": -1}', b'{"device": "a", "choice": "\\ud800"}', b'{"choice": 0}',
        b'{"device": "' + b"a" * 101 + b'", "choice": 0}', b'{"device": "' + b"a" * 20_000 + b'", "choice": 0}',
        b'{"device": "a", "choice": ' + b"9" * 5000 + b"}", b'{"device": "a", "choice": 0, "number": "1"}',
    ],
)  # fmt: skip
def test_an_answer_that_is_none_is_refused(lecturer, body):
    lecturer.post("question", text="Which?", answers=["a", "b"])
    response = lecturer.client.post(f"/class/{lecturer.code}/answer", content=body)
    assert is_refusal(response)
    assert lecturer.results["counts"] == [0, 0]


@pytest.mark.parametrize(
    "body",
    [
        {}, {"text": "?"}, {"answers": ["a", "b"]}, {"text": "?", "answers": ["a"]}, {"text": "?", "answers": "ab"},
        {"text": "?", "answers": ["a", "a"]}, {"text": "?", "answers": ["a", 1]}, {"text": "?", "answers": ["a", " "]},
        {"text": "?", "answers": list("abcdefghi")}, {"text": "x" * 1001, "answers": ["a", "b"]},
        {"text": "?", "answers": ["a", "b" * 201]}, {"text": "?", "answers": ["a", "b"], "right": 2},
        {"text": "?", "answers": ["a", "b"], "right": True}, {"text": "?", "answers": ["a", "b"], "why": 1},
        {"text": "?", "answers": ["a", "b"], "link": "https://evil.example/"}, {"cell": "batch"}, {"cell": 1},
        {"cell": "batch.nothing"}, {"cell": "custom.case-rescaling"}, {"cell": "../etc.passwd"},
    ],
)  # fmt: skip
def test_a_question_that_is_none_is_refused(lecturer, body):
    assert is_refusal(lecturer.post("question", **body))
    assert lecturer.state["number"] == 0


@pytest.mark.parametrize(
    ("link", "stored"),
    [
        ("/compare?schemes=layer", "/compare?schemes=layer"),
        ("/", "/"),
        ("/?n=4&c=6", "/?n=4&c=6"),
        ("http://testserver/compare?schemes=layer#x", "/compare?schemes=layer"),
        (" https://testserver/why ", "/why"),
        ("/compare?note=<img src=x>", "/compare?note=%3Cimg+src%3Dx%3E"),
        *((link, None) for link in (
            "", "https://evil.example/compare", "//evil.example/compare", "/\\evil.example", "javascript:alert(1)",
            "/no-such-page", "/compare/../_stcore/metrics", "compare", "http://testserver@evil.example/compare",
            "http://[", "/compare?" + "a" * 2000, "data:text/html,x", "/class/BCDF2345/end", "http:///compare",
        )),
    ],
)  # fmt: skip
def test_only_links_of_own_pages_are_passed_on(lecturer, link, stored):
    sent = lecturer.client.post(f"/class/{lecturer.code}/snapshot", json={"device": "a", "link": link})
    led = lecturer.post("pace", mode="follow", link=link)
    if stored is None:
        assert is_refusal(sent)
        assert is_refusal(led)
        assert lecturer.results["snapshots"] == []
        assert lecturer.state["pace"] == {"mode": "free", "link": ""}
    else:
        assert [each["link"] for each in lecturer.results["snapshots"]] == [stored]
        assert lecturer.state["pace"] == {"mode": "follow", "link": stored}


def test_a_class_is_led_paused_and_let_go(lecturer):
    assert is_refusal(lecturer.post("pace", mode="follow"))
    assert is_refusal(lecturer.post("pace", mode="fly"))
    assert lecturer.post("pace", link="/why").json() == {"mode": "follow", "link": "/why"}
    for mode in ("follow", "pause", "free"):
        assert lecturer.post("pace", mode=mode, link="/compare").status_code == 200
        assert lecturer.state["pace"] == {"mode": mode, "link": "/compare"}


def test_codes_cannot_be_guessed_by_trying(client, lecturer):
    codes = [
        client.get(f"/class/BCDF{k:04}".replace("0", "G").replace("1", "H")).status_code for k in range(2222, 2290)
    ]
    assert codes == [404] * limits.MAX_WRONG + [429] * (68 - limits.MAX_WRONG)
    assert lecturer.state["code"] == lecturer.code  # which this address has used
    late = Lecturer(client)
    assert late.state["number"] == 0
    assert len(CODE_LETTERS) ** CODE_LENGTH > 1e11
    assert client.get("/class/BCDF2345").status_code == 429


def test_one_address_opens_so_many_classes_and_no_more(client, monkeypatch):
    monkeypatch.setattr(RateLimit, "is_exhausted", lambda limit, address: limit.limit == limits.MAX_OPENED)
    assert is_refusal(client.post("/class"))


def test_a_limit_counts_by_address_and_period():
    now = [0.0]
    limit = RateLimit(2, 10.0, lambda: now[0])
    for exhausted in (False, False, True):
        assert limit.is_exhausted("a") is exhausted
        limit.count_event("a")
    assert not limit.is_exhausted("b")
    now[0] = 10.0
    assert not limit.is_exhausted("a")


@pytest.mark.parametrize("typed", ["bcdf2345", "BCDF 2345", " bcdf-2345 "])
def test_a_code_may_be_typed_in_groups(typed):
    assert normalize_code(typed) == "BCDF2345"


HOSTILE = st.one_of(
    st.text(max_size=30),
    st.sampled_from([
        "<script>alert(1)</script>", "'; DROP TABLE classes; --", "../../etc/passwd", "\x00", "%00", "{0}", "${7*7}",
        "a" * 5000, "\u202e", "‮<b>", "BCDF2345", "//evil.example",
    ]),
)  # fmt: skip
VALUES = st.recursive(
    st.one_of(HOSTILE, st.integers(), st.none(), st.booleans(), st.floats(allow_nan=False)),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(HOSTILE, inner, max_size=4),
    max_leaves=6,
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    code=HOSTILE,
    name=st.sampled_from([*ACTIONS, "results", ""]),
    body=st.dictionaries(
        st.sampled_from(["device", "choice", "text", "answers", "cell", "link", "mode", "right"]), VALUES, max_size=6
    ),
)
def test_whatever_is_sent_is_refused_or_counted_and_nothing_breaks(lecturer, code, name, body):
    lecturer.post("question", text="Which?", answers=["a", "b"])
    before = sum(lecturer.results["counts"])
    content = json.dumps(body).encode()
    for at, headers in ((code, {}), (lecturer.code, {}), (lecturer.code, lecturer.headers)):
        if name == "end" and headers:
            continue
        url = lecturer.client.base_url.copy_with(raw_path=b"/class/" + quote_all(at) + f"/{name}".rstrip("/").encode())
        response = lecturer.client.request(
            "GET" if name in ("", "results") else "POST", url, content=content, headers=headers
        )
        assert response.status_code == 200 or 300 < response.status_code < 500
        assert "Traceback" not in response.text
        if response.headers["content-type"] == "application/json" and response.status_code >= 400:
            assert is_refusal(response)
    counts = lecturer.results["counts"]
    assert sum(counts) - before in (-before, 0, 1)


def quote_all(text: str) -> bytes:
    """A text as one part of an address."""
    return "".join(f"%{byte:02x}" for byte in text.encode("utf-8", "surrogatepass")).encode()


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=20)
@given(text=HOSTILE.filter(str.strip), answers=st.lists(HOSTILE.map(str.strip), min_size=2, max_size=8, unique=True))
def test_a_text_comes_back_as_it_was_sent_or_is_refused(lecturer, text, answers):
    response = lecturer.post("question", text=text, answers=answers)
    if response.status_code == 200:
        assert lecturer.state["question"] == {"text": text.strip(), "answers": answers}
        assert lecturer.client.get(f"/class/{lecturer.code}").headers["content-type"] == "application/json"
    else:
        assert is_refusal(response)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_of_a_student_is_light_and_the_same_for_every_class(client, language):
    page = client.get(f"/join/BCDF2345?lang={language}")
    others = [client.get(f"/join/{code}?lang={language}").text for code in ("<script>", "")]
    assert {page.text, *others} == {build_join_page(language)}
    assert f'<html lang="{language}">' in page.text
    assert escape(get_words("join", language)["privacy"]) in page.text
    assert len(page.content) < 15_000
    assert "http" not in page.text
    assert page.headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("unknown", ["fr", "<script>", "x" * 5000, ""])
def test_the_page_of_a_student_in_an_unknown_language_is_in_english(client, unknown):
    assert client.get("/join/BCDF2345", params={"lang": unknown}).text == build_join_page("en")


@pytest.mark.parametrize(
    ("asked", "language"),
    [("de", "de"), ("de-AT,en;q=0.5", "de"), ("en", "en"), ("fr,de", "en"), ("", "en"), ("/", "en")],
)
def test_questions_and_refusals_are_in_the_language_that_is_asked_for(client, asked, language):
    headers = {"Accept-Language": asked}
    assert client.get("/class/BCDF2345", headers=headers).json() == {
        "error": get_words("refusal", language)["unknown-code"]
    }
    lecturer = Lecturer(client)
    client.headers.update(headers)
    lecturer.post("question", lesson="group-norm.1")
    assert (
        client.get(f"/class/{lecturer.code}").json()["question"]["text"]
        == make_lesson_question("group-norm.1", language).text
    )


def test_a_database_that_fails_is_said_in_one_line(tmp_path, capsys):
    tmp_path.joinpath("classes.sqlite").write_text("this is no database " * 100)
    url = read_database_url({"NORMVIZ_DATABASE": f"sqlite:///{tmp_path / 'classes.sqlite'}"})
    with TestClient(Starlette(routes=create_class_routes(Rooms(lambda: ClassStore(Database(url)))))) as client:
        response = client.post("/class")
    assert response.status_code == 503
    assert response.json() == {"error": "The database of classes does not answer."}
    assert "not a database" in capsys.readouterr().err


@pytest.mark.parametrize("url", ["x", "mysql://a:hush/b", "postgresql://", "sqlite://", "postgresql://a:hush port/x"])
def test_a_database_that_is_none_is_refused_without_its_password(url):
    with pytest.raises(InvalidInput, match="NORMVIZ_DATABASE is a URL") as refused:
        read_database_url({"NORMVIZ_DATABASE": url})
    assert "hush" not in str(refused.value)


def test_classes_are_beside_the_result_cache_by_default(tmp_path, monkeypatch):
    monkeypatch.setenv("NORMVIZ_RESULTS", str(tmp_path / "results.sqlite"))
    assert read_database_url({}).database == str(tmp_path / "classes.sqlite")


def test_old_classes_are_deleted_without_a_request(tmp_path, monkeypatch):
    url, now = read_database_url({"NORMVIZ_DATABASE": f"sqlite:///{tmp_path / 'classes.sqlite'}"}), [1e9]
    database = Database(url)
    store = ClassStore(database, lambda: now[0])
    store.open_class()
    now[0] += limits.CLASS_SECONDS + 1
    monkeypatch.setattr(routes, "get_rooms", lambda: Rooms(lambda: store))

    @asynccontextmanager
    async def lifespan(app):
        async with routes.delete_old_classes():
            yield

    def count() -> int:
        with database.begin_read() as db:
            return len(db.execute(CLASSES.select()).all())

    with TestClient(Starlette(lifespan=lifespan)):
        end = time.monotonic() + 10
        while count() and time.monotonic() < end:
            time.sleep(0.01)
    assert count() == 0
    database.close()
