"""Results on disk: there for every process and after a restart, bounded, and no harm where they are damaged."""

import gc
import os
import sqlite3
import subprocess
import sys
import tracemalloc
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from normviz.jobs import result_cache
from normviz.jobs import result_cache as kept
from normviz.jobs.result_cache import ResultCache, find_results_path

ROOT = Path(__file__).parents[2]
CURVE = {"losses": np.array([2.0, np.nan, np.inf, -0.0]), "seeds": np.arange(3), "device": np.array("CPU, 2 cores")}
KILOBYTE = {"numbers": np.zeros(128)}  # and a few hundred bytes around it


@pytest.fixture
def path(tmp_path):
    return tmp_path / "cache" / "results.sqlite"


def run(path, script, **how):
    return subprocess.run(
        [sys.executable, "-c", script],
        env=os.environ | {"PYTHONPATH": str(ROOT), result_cache.RESULTS_VARIABLE: str(path)},
        capture_output=True, text=True, **how,
    )  # fmt: skip


def same(one, other):
    return one.keys() == other.keys() and all(
        one[name].dtype == other[name].dtype and np.array_equal(one[name], other[name], equal_nan=name == "losses")
        for name in one
    )


def change(path, statement):
    with closing(sqlite3.connect(path)) as store, store:
        assert store.execute(statement).rowcount > 0


def test_what_was_kept_is_there_after_a_restart(path):
    assert ResultCache(path).get("a") is None
    ResultCache(path).put("a", CURVE)
    assert same(ResultCache(path).get("a"), CURVE)
    assert ResultCache(path).get("b") is None


def test_what_another_process_kept_is_there(path):
    script = (
        "import numpy as np; from normviz.jobs.result_cache import ResultCache; "
        "ResultCache().put('a', {'losses': np.arange(4.0)})"
    )
    run(path, script, check=True)
    assert ResultCache(path).get("a")["losses"].tolist() == [0, 1, 2, 3]


def test_a_result_that_is_kept_again_is_the_new_one(path):
    store = ResultCache(path)
    store.put("a", CURVE)
    store.put("a", KILOBYTE)
    assert same(store.get("a"), KILOBYTE)


def test_those_go_first_that_were_not_used_for_the_longest_time(path):
    store = ResultCache(path, max_bytes=4 * 1500)
    for name in "abcd":
        store.put(name, KILOBYTE)
    assert store.get("a") is not None
    store.put("e", KILOBYTE)
    store.put("f", KILOBYTE)
    assert [name for name in "abcdef" if store.get(name)] == ["a", "d", "e", "f"]


def test_the_file_stays_as_small_as_it_may_be(path):
    """Beside it SQLite keeps a log of a few megabytes."""
    store = ResultCache(path, max_bytes=2**20)
    for number in range(60):
        store.put(str(number), {"numbers": np.full(2**16, number)})
    assert sum(file.stat().st_size for file in path.parent.iterdir()) < 2**23
    assert store.get("59") is not None


def test_a_result_that_is_too_large_is_not_kept_and_drops_no_other(path):
    store = ResultCache(path, max_bytes=10_000)
    store.put("a", KILOBYTE)
    store.put("large", {"numbers": np.zeros(2000)})
    assert store.get("large") is None
    assert store.get("a") is not None


def test_objects_are_never_written(path):
    with pytest.raises(ValueError, match="Object arrays"):
        ResultCache(path).put("a", {"anything": np.array([object()])})
    assert not path.exists()


@pytest.mark.parametrize(
    "damage",
    [
        "UPDATE contents SET content = zeroblob(length(content))",
        "UPDATE contents SET content = substr(content, 1, length(content) - 1)",
        "UPDATE contents SET content = (SELECT content FROM contents WHERE digest = 'b')",
        "UPDATE contents SET content = 'text'",
        "UPDATE contents SET content = NULL",
        "DELETE FROM contents WHERE digest = 'a'",
        "UPDATE results SET checksum = NULL",
    ],
)
def test_a_damaged_result_is_not_there_and_said_until_it_is_kept_anew(path, damage):
    store = ResultCache(path)
    store.put("a", CURVE)
    store.put("b", KILOBYTE)
    change(path, damage)
    assert not store.is_damaged("a")
    assert store.get("a") is None
    assert store.is_damaged("a")
    assert not store.is_damaged("c")
    store.put("a", KILOBYTE)
    assert not store.is_damaged("a")
    assert same(store.get("a"), KILOBYTE)


@pytest.mark.parametrize("content", [b"this is no store of results" * 200, b"SQLite format 3\0" + b"\xff" * 8000])
def test_a_damaged_file_is_set_aside_and_begun_anew(path, content):
    path.parent.mkdir()
    path.write_bytes(content)
    store = ResultCache(path)
    assert store.get("a") is None
    assert store.is_damaged("a")
    assert path.with_name("results.sqlite.damaged").read_bytes() == content
    store.put("a", CURVE)
    assert same(ResultCache(path).get("a"), CURVE)


def test_a_file_that_is_damaged_in_the_middle_loses_no_more_than_its_results(path):
    store = ResultCache(path)
    for number in range(40):
        store.put(str(number), {"numbers": np.full(2000, number)})
    del store
    gc.collect()  # closes the file, which is then whole
    content = bytearray(path.read_bytes())
    content[4096 : len(content) // 2] = os.urandom(len(content) // 2 - 4096)
    path.write_bytes(content)
    store = ResultCache(path)
    for number in range(40):
        found = store.get(str(number))
        assert found is None or found["numbers"].tolist() == [number] * 2000
    store.put("0", CURVE)
    assert same(store.get("0"), CURVE)


def checkpoint(path):
    """Move all results from the log into the file."""
    with closing(sqlite3.connect(path)) as store:
        store.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def truncate(path, share=0.0):
    os.truncate(path, int(path.stat().st_size * share))


def overwrite(path):
    checkpoint(path)
    with path.open("r+b") as file:
        file.write(os.urandom(path.stat().st_size))


def cut_in_half(path):
    checkpoint(path)
    truncate(path, 0.5)


DAMAGES = {
    "emptied": truncate,
    "emptied after a checkpoint": lambda path: (checkpoint(path), truncate(path)),
    "overwritten": overwrite,
    "cut in half": cut_in_half,
    "its log emptied": lambda path: truncate(path.with_name("results.sqlite-wal")),
    "deleted beside its log": Path.unlink,
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("first", ["put", "get"])
def test_a_file_that_is_damaged_while_it_is_open_is_set_aside_and_begun_anew(path, capsys, damage, first):
    store, other = ResultCache(path), ResultCache(path)
    for number in range(40):
        store.put(str(number), {"numbers": np.full(2000, number)})
        other.get(str(number))  # has the file open as well
    DAMAGES[damage](path)
    if first == "get":
        for number in range(40):
            found = store.get(str(number))
            assert found is None or found["numbers"].tolist() == [number] * 2000
    for each in (store, other):
        each.put("a", CURVE)
        assert not each.failed
        assert same(each.get("a"), CURVE)
    assert path.with_name("results.sqlite.damaged").exists()
    said = capsys.readouterr().err
    assert said.startswith("Cached results were damaged: ")
    assert said.count("\n") == 1


LATER = """
import sys, numpy as np
from concurrent.futures import ThreadPoolExecutor
from normviz.jobs import result_cache
result_cache.READ_TIMEOUT = 60  # on a busy machine, the new file may be locked for more than half a second
store, name = result_cache.ResultCache(), sys.argv[1]
store.put(name, {"numbers": np.zeros(9)})
print("open", flush=True)
sys.stdin.readline()
def work(number):
    store.put(f"{name} {number}", {"numbers": np.full(500, number)})
    return store.get(f"{name} {number}") is not None
with ThreadPoolExecutor(4) as pool:
    print(all(pool.map(work, range(20))), flush=True)
"""


def test_of_many_processes_that_find_a_damaged_file_one_sets_it_aside(path):
    environment = os.environ | {"PYTHONPATH": str(ROOT), result_cache.RESULTS_VARIABLE: str(path)}
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    others = [
        subprocess.Popen([sys.executable, "-c", LATER, name], env=environment, text=True, **pipes) for name in "abc"
    ]
    assert [other.stdout.readline() for other in others] == ["open\n"] * 3
    truncate(path)
    for other in others:
        other.stdin.write("go\n")
        other.stdin.flush()
    found = [other.communicate() for other in others]
    assert [out for out, _ in found] == ["True\n"] * 3
    said = "".join(err for _, err in found)
    assert said.startswith("Cached results were damaged: ")
    assert said.count("\n") == 1
    store = ResultCache(path)
    assert all(store.get(f"{name} {number}") for name in "abc" for number in range(20))


def test_a_file_that_is_locked_for_long_is_not_set_aside(path, monkeypatch, capsys):
    monkeypatch.setattr(kept, "WRITE_TIMEOUT", 0.1)
    store = ResultCache(path)
    store.put("a", CURVE)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        store.put("b", CURVE)
        assert store.failed
    assert capsys.readouterr().err == "Results cannot be cached: database is locked.\n"
    assert not path.with_name("results.sqlite.damaged").exists()
    assert same(store.get("a"), CURVE)


def test_a_file_that_is_emptied_while_a_result_waits_for_it_is_set_aside(path, monkeypatch):
    monkeypatch.setattr(kept, "WRITE_TIMEOUT", 1.0)
    store = ResultCache(path)
    store.put("a", CURVE)
    with closing(sqlite3.connect(path, isolation_level=None)) as other, ThreadPoolExecutor() as pool:
        other.execute("BEGIN IMMEDIATE")
        putting = pool.submit(store.put, "b", CURVE)
        assert not wait([putting], timeout=0.3).done
        truncate(path)
        putting.result()
    assert not store.failed
    assert same(store.get("b"), CURVE)
    assert path.with_name("results.sqlite.damaged").exists()


def peak(work):
    """Bytes of Python's and NumPy's memory that some work takes at most."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("content", ["zeroblob(40000000)", "printf('%.*c', 40000000, 'x')"])
def test_a_row_beyond_the_bound_is_never_loaded(path, content):
    store = ResultCache(path)
    store.put("a", CURVE)
    change(path, f"UPDATE contents SET content = {content}")
    assert peak(lambda: store.get("a")) < 2**20
    assert store.is_damaged("a")
    store.put("a", CURVE)
    assert same(store.get("a"), CURVE)
    assert not path.with_name("results.sqlite.damaged").exists()


def test_a_result_beyond_the_bound_is_not_packed(path):
    store, large = ResultCache(path), {"numbers": np.zeros(2**22)}
    assert peak(lambda: store.put("a", large)) < 2**20
    store.put("b", {str(number): np.zeros(1) for number in range(result_cache.MAX_ARRAYS + 1)})
    assert not path.exists()


def test_a_file_that_was_deleted_is_begun_anew(path):
    store = ResultCache(path)
    store.put("a", CURVE)
    for file in path.parent.iterdir():
        file.unlink()
    assert store.get("a") is None
    assert not store.is_damaged("a")
    store.put("a", CURVE)
    assert same(store.get("a"), CURVE)


def test_where_nothing_can_be_kept_that_is_said_once(tmp_path, capsys):
    (tmp_path / "file").touch()
    store = ResultCache(tmp_path / "file" / "results.sqlite")
    for _ in range(2):
        store.put("a", CURVE)
        assert store.get("a") is None
    assert not store.is_damaged("a")
    said = capsys.readouterr().err
    assert said.startswith("Results cannot be cached: ")
    assert said.count("\n") == 1


def test_on_a_full_disk_what_is_there_stays(path):
    ResultCache(path).put("a", CURVE)
    script = """
import resource, numpy as np
from normviz.jobs.result_cache import ResultCache
resource.setrlimit(resource.RLIMIT_FSIZE, (60_000, 60_000))
store = ResultCache()
for name in "bc":
    store.put(name, {"numbers": np.zeros(2**16)})
print(store.get("a") is not None, store.get("b"), store.is_damaged("b"))
"""
    found = run(path, script, check=True)
    assert found.stdout == "True None False\n"
    assert found.stderr.startswith("Results cannot be cached: ")
    assert found.stderr.count("\n") == 1
    assert same(ResultCache(path).get("a"), CURVE)
    assert not path.with_name("results.sqlite.damaged").exists()


MANY = """
import sys, numpy as np
from normviz.jobs.result_cache import ResultCache
store, first = ResultCache(), int(sys.stdin.readline())
for number in range(first, first + 30):
    store.put(str(number), {"numbers": np.full(500, number)})
    found = store.get(str((number * 7) % 120))
    assert found is None or len(set(found["numbers"].tolist())) == 1
"""


def test_many_processes_keep_results_at_once(path):
    """Also the first of all, which sets up the file."""
    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(lambda first: run(path, MANY, input=f"{first}\n"), range(0, 120, 30)))
    assert [(one.returncode, one.stderr) for one in found] == [(0, "")] * 4
    store = ResultCache(path)
    assert all(store.get(str(number))["numbers"].tolist() == [number] * 500 for number in range(120))


def test_many_threads_keep_results_at_once(path, capsys):
    store = ResultCache(path)

    def work(number):
        store.put(str(number), {"numbers": np.full(500, number)})
        return store.get(str(number))["numbers"][0]

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(work, range(80))) == list(range(80))
    assert capsys.readouterr().err == ""


def test_a_reader_does_not_wait_for_who_writes(path):
    store = ResultCache(path)
    store.put("a", CURVE)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        assert same(store.get("a"), CURVE)


@pytest.mark.parametrize(
    ("environment", "found"),
    [
        ({"NORMVIZ_RESULTS": "/srv/kept.sqlite", "XDG_CACHE_HOME": "/cache"}, "/srv/kept.sqlite"),
        ({"NORMVIZ_RESULTS": "", "XDG_CACHE_HOME": "/cache"}, "/cache/normviz/results.sqlite"),
        ({"HOME": "/home/ada"}, "/home/ada/.cache/normviz/results.sqlite"),
    ],
)
def test_the_environment_says_where_results_are_kept(monkeypatch, environment, found):
    for name in ("NORMVIZ_RESULTS", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    assert find_results_path() == Path(found)
