"""The store of classes in SQLite and in PostgreSQL: what it counts, refuses and deletes."""

import os
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from browsing import ROOT
from postgres import INSTALLED, serving_postgres

from normviz.classroom.rooms import store as stores
from normviz.classroom.rooms.database import METADATA, Database, read_database_url
from normviz.classroom.rooms.limits import CLASS_SECONDS
from normviz.classroom.rooms.records import Answer, Pace, Question, RefusedRequest
from normviz.classroom.rooms.store import ClassStore

QUESTION = Question("Same?", ("yes", "no"), 0, "So it is.", "/compare")


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def url(request, tmp_path_factory) -> Iterator[str]:
    """The URL of an empty database."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path_factory.mktemp('classes') / 'new' / 'classes.sqlite'}"
    elif INSTALLED is None:
        pytest.skip("PostgreSQL is not installed; apt-get install postgresql")
    else:
        with serving_postgres() as served:
            yield served


class Clock:
    def __init__(self) -> None:
        self.now = 1e9

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def store(url, clock) -> Iterator[ClassStore]:
    database = Database(read_database_url({"NORMVIZ_DATABASE": url}))
    yield ClassStore(database, clock)
    database.close()


@pytest.fixture
def other(url, clock) -> Iterator[ClassStore]:
    """The store of another server with the same database."""
    database = Database(read_database_url({"NORMVIZ_DATABASE": url}))
    yield ClassStore(database, clock)
    database.close()


def ask(store: ClassStore) -> tuple[str, str]:
    code, secret = store.open_class()
    store.ask_question(code, secret, QUESTION)
    return code, secret


def refusal(outcome) -> int | None:
    return outcome.status if isinstance(outcome, RefusedRequest) else None


def test_a_class_from_its_first_question_to_its_end(store):
    code, secret = store.open_class()
    assert store.read_state(code).to_data()["question"] is None
    assert [refusal(each) for each in store.record_answers([Answer(code, "a", 0)])] == [409]
    assert store.ask_question(code, secret, QUESTION) == 1
    assert store.record_answers([Answer(code, "a", 0), Answer(code, "b", "no"), Answer(code, "a", 1)]) == [0, 1, 1]
    asked = store.read_state(code).to_data()
    assert asked["question"] == {"text": "Same?", "answers": ["yes", "no"]}
    assert not {"right", "why", "counts"} & set(asked)
    results = store.read_results(code, secret)
    assert (results["counts"], results["closed"]) == ([0, 2], False)
    store.close_question(code, secret)
    assert [refusal(each) for each in store.record_answers([Answer(code, "c", 0)])] == [409]
    store.reveal_answer(code, secret)
    revealed = store.read_state(code).to_data()
    assert (revealed["right"], revealed["why"], revealed["counts"], revealed["closed"]) == (
        0,
        "So it is.",
        [0, 2],
        True,
    )
    assert store.ask_question(code, secret, QUESTION) == 2
    assert store.read_results(code, secret)["counts"] == [0, 0]
    late = store.record_answers([Answer(code, "a", 0, number=1), Answer(code, "a", 0, number=2)])
    assert [refusal(each) for each in late] == [409, None]
    store.end_class(code, secret)
    with pytest.raises(RefusedRequest, match="no class"):
        store.read_state(code)


def test_every_change_has_a_higher_version_and_answers_have_none(store):
    code, secret = store.open_class()
    versions = [store.read_state(code).version]
    for change in (
        lambda: store.ask_question(code, secret, QUESTION),
        lambda: store.set_pace(code, secret, Pace("follow", "/compare")),
        lambda: store.close_question(code, secret),
        lambda: store.reveal_answer(code, secret),
    ):
        change()
        store.record_answers([Answer(code, "a", 0)])
        versions.append(store.read_state(code).version)
    assert versions == [1, 2, 3, 4, 5]
    assert store.read_versions([code, "BCDF2345"]) == {code: 5}


@pytest.mark.parametrize("choice", [-1, 2, 10**30, "maybe", "0"])
def test_a_choice_that_is_none_is_refused(store, choice):
    code, secret = ask(store)
    assert [refusal(each) for each in store.record_answers([Answer(code, "a", choice)])] == [400]
    assert store.read_results(code, secret)["counts"] == [0, 0]


@pytest.mark.parametrize(
    ("use", "more"),
    [
        ("ask_question", [QUESTION]),
        ("close_question", []),
        ("reveal_answer", []),
        ("set_pace", [Pace()]),
        ("end_class", []),
        ("read_results", []),
    ],
)
def test_a_wrong_secret_changes_nothing(store, use, more):
    code, secret = ask(store)
    _, other_secret = store.open_class()
    for wrong in ("", secret[:-1], secret.swapcase(), other_secret):
        with pytest.raises(RefusedRequest) as refused:
            getattr(store, use)(code, wrong, *more)
        assert refused.value.status == 403
    assert store.read_state(code).version == 2


def test_what_is_stored_holds_neither_secret_nor_device(store):
    code, secret = ask(store)
    store.record_answers([Answer(code, "my name", 0)])
    store.add_snapshot(code, "my name", "/compare")
    with store._database.begin_read() as db:
        rows = [db.execute(table.select()).all() for table in METADATA.tables.values()]
    assert len(rows) == 3
    assert secret not in str(rows)
    assert "my name" not in str(rows)


def test_servers_that_answer_at_once_count_every_device_once(store, other):
    code, secret = ask(store)
    random = Random(0)
    answers = [Answer(code, f"device {k}", random.randrange(2)) for k in range(60)]
    both = [(each, server) for each in answers for server in (store, other)]
    random.shuffle(both)
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda pair: pair[1].record_answers([pair[0]])[0], both))
    assert found == [answer.choice for answer, _ in both]
    for server in (store, other):
        counts = server.read_results(code, secret)["counts"]
        assert counts == [sum(each.choice == k for each in answers) for k in (0, 1)]
        assert server.read_state(code) == store.read_state(code)


def test_no_answer_is_counted_after_a_close_that_is_confirmed(store, other):
    code, secret = ask(store)
    with ThreadPoolExecutor(2) as threads:
        sent = threads.submit(lambda: [other.record_answers([Answer(code, str(k), 0)])[0] for k in range(60)])
        while not store.read_results(code, secret)["counts"][0]:
            pass
        store.close_question(code, secret)
        after = store.read_results(code, secret)["counts"]
        outcomes = sent.result()
    assert store.read_results(code, secret)["counts"] == after == [outcomes.count(0), 0]


def test_a_class_has_so_many_devices_and_no_more(store, monkeypatch):
    monkeypatch.setattr(stores, "MAX_DEVICES", 3)
    code, secret = ask(store)
    outcomes = store.record_answers([Answer(code, str(k), 0) for k in (0, 1, 0, 2, 3)])
    assert [refusal(each) for each in outcomes] == [None, None, None, None, 429]
    assert [refusal(each) for each in store.record_answers([Answer(code, "4", 0), Answer(code, "2", 1)])] == [429, None]
    assert store.read_results(code, secret)["counts"] == [2, 1]


def test_a_class_has_so_many_links_and_no_more(store, monkeypatch):
    monkeypatch.setattr(stores, "MAX_SNAPSHOTS", 3)
    monkeypatch.setattr(stores, "MAX_DEVICE_SNAPSHOTS", 2)
    code, secret = ask(store)
    for device, link in (("a", "/1"), ("a", "/1"), ("a", "/2"), ("b", "/1")):
        store.add_snapshot(code, device, link)
    for device in ("a", "c"):
        with pytest.raises(RefusedRequest, match="links"):
            store.add_snapshot(code, device, "/3")
    assert [each["link"] for each in store.read_results(code, secret)["snapshots"]] == ["/1", "/2", "/1"]


def test_a_class_is_over_after_a_day_and_deleted(store, clock, monkeypatch):
    code, secret = ask(store)
    store.record_answers([Answer(code, "a", 0)])
    clock.now += CLASS_SECONDS - 1
    assert store.read_state(code).number == 1
    monkeypatch.setattr(stores, "MAX_CLASSES", 0)
    with pytest.raises(RefusedRequest, match="Too many classes"):
        store.open_class()
    clock.now += 2
    with pytest.raises(RefusedRequest, match="no class"):
        store.read_results(code, secret)
    assert [refusal(each) for each in store.record_answers([Answer(code, "a", 0)])] == [404]
    assert store.read_versions([code]) == {}
    store.delete_old_classes()
    with store._database.begin_read() as db:
        assert [row for table in METADATA.tables.values() for row in db.execute(table.select())] == []


KILLED = """
import os, signal, sys
from normviz.classroom.rooms.database import Database, read_database_url
from normviz.classroom.rooms.records import Answer
from normviz.classroom.rooms.store import ClassStore

store = ClassStore(Database(read_database_url(os.environ)), lambda: 1e9)
for k in range(10):
    store.record_answers([Answer(sys.argv[1], str(k), 1)])
os.kill(os.getpid(), signal.SIGKILL)
"""


def test_a_killed_server_loses_no_answer(store, url):
    code, secret = ask(store)
    environment = {**os.environ, "NORMVIZ_DATABASE": url, "PYTHONPATH": str(ROOT)}
    killed = subprocess.run([sys.executable, "-c", KILLED, code], env=environment, capture_output=True, text=True)
    assert killed.returncode < 0, killed.stderr
    assert store.read_results(code, secret)["counts"] == [0, 10]
