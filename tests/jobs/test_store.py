"""Kept results: bounded, and those go first that were not used for the longest time."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from normviz.jobs.bounded_store import BoundedStore, HashedKey


@pytest.fixture
def full():
    store = BoundedStore(limit=3)
    for key in "abc":
        store.put(key, key.upper())
    return store


def keys(store):
    return {key for key in "abcde" if key in store._values}


def test_what_was_put_can_be_had(full):
    assert [full.get(key) for key in "abcd"] == ["A", "B", "C", None]
    assert len(full) == 3


def test_the_oldest_goes(full):
    full.put("d", "D")
    assert keys(full) == set("bcd")


def test_what_was_read_stays(full):
    full.get("a")
    full.put("d", "D")
    assert keys(full) == set("acd")
    full.put("e", "E")
    assert keys(full) == set("ade")


def test_what_was_written_again_stays(full):
    full.put("a", "A again")
    full.put("d", "D")
    assert keys(full) == set("acd")
    assert full.get("a") == "A again"


def test_what_is_not_there_renews_nothing(full):
    assert full.get("e") is None
    full.put("d", "D")
    assert keys(full) == set("bcd")


def test_a_value_that_does_not_replace_the_old_one_renews_it():
    store = BoundedStore(limit=2, replaces=lambda new, old: len(new) >= len(old))
    store.put("a", "long")
    store.put("b", "b")
    store.put("a", "no")
    store.put("c", "c")
    assert keys(store) == set("ac")
    assert store.get("a") == "long"
    store.put("a", "longer")
    assert store.get("a") == "longer"


def test_many_threads_leave_it_whole():
    store = BoundedStore(limit=50)

    def work(seed):
        for n in range(2000):
            store.put((seed * n) % 97, n)
            store.get((seed + n) % 97)

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(work, range(1, 9)))
    assert len(store) == 50


def test_a_key_is_hashed_once_and_equal_to_one_of_equal_parts():
    class Part:
        hashed = 0

        def __hash__(self):
            Part.hashed += 1
            return 7

        def __eq__(self, other):
            return isinstance(other, Part)

    key = HashedKey(Part(), 3)
    values = {key: "kept"}
    assert [values.get(key), values.get(HashedKey(Part(), 3)), values.get(HashedKey(Part(), 4))] == [
        "kept",
        "kept",
        None,
    ]
    assert Part.hashed == 3  # one for every key, however often it is looked up
    assert key != (Part(), 3)
