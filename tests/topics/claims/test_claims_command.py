"""`normviz claims`: records, exit codes, and what is said where something is not as on record or fails."""

import json
from dataclasses import replace

import pytest

from normviz.cli.main import main
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.process_executor import ProcessExecutor
from normviz.topics.claims.claim_list import CLAIMS
from normviz.topics.claims.jobs import Measurement

STARTED = 120.0  # seconds that a worker and its checks may take on a busy machine
ID = "G02"
KEYS = {"id", "source", "claim", "verdict", "expected", "evidence", "condition", "see", "trials", "experiments"}


def run(capsys, *words):
    code = main(["claims", *words])
    return code, *capsys.readouterr()


def test_records_as_json_in_the_order_asked_for(capsys):
    code, out, err = run(capsys, "--id", f"{ID},I03", "--json")
    found = json.loads(out)
    assert (code, err, [one["id"] for one in found]) == (0, "", [ID, "I03"])
    assert all(set(one) == KEYS for one in found)


def test_a_seed_gives_the_same_numbers_again(capsys):
    assert run(capsys, "--id", ID, "--seed", "7", "--json") == run(capsys, "--id", ID, "--seed", "7", "--json")
    assert run(capsys, "--id", ID, "--seed", "7", "--json") != run(capsys, "--id", ID, "--seed", "8", "--json")


def test_the_page_has_the_same_numbers(capsys):
    ids = ("T01", "B07", "L07", "N04", "S01")
    _, out, _ = run(capsys, "--id", ",".join(ids), "--seed", "3", "--json")
    with ProcessExecutor(1) as pool:
        kept = {}
        jobs = [Measurement(each, 3, "here") for each in ids]
        request = JobQueue(pool, lease=STARTED).submit(jobs, lambda job, result: kept.update({job.id: result}))
        assert request.wait(STARTED)
    found = {each: json.loads(str(result["evidence"])) for each, result in kept.items()}
    assert {one["id"]: one["trials"] for one in json.loads(out)} == {each: found[each]["trials"] for each in ids}


def test_a_verdict_that_is_not_on_record_is_said_and_is_an_error(capsys, monkeypatch):
    monkeypatch.setitem(CLAIMS, ID, replace(CLAIMS[ID], expected="wrong"))
    code, _, err = run(capsys, "--id", f"{ID},I03")
    assert code == 1
    assert err.startswith(f"normviz: {ID}: measured holds, on record wrong.")


def test_a_check_that_fails_is_said_and_the_others_are_printed(capsys, monkeypatch):
    def broken(seed):
        raise ArithmeticError("nothing adds up")

    monkeypatch.setitem(CLAIMS, ID, replace(CLAIMS[ID], check=broken))
    code, out, err = run(capsys, "--id", f"{ID},I03", "--json")
    assert (code, [one["id"] for one in json.loads(out)]) == (1, ["I03"])
    assert err.startswith(f"normviz: {ID} cannot be measured: nothing adds up")


@pytest.mark.parametrize("words", [["--id", "X"], ["--id", ""], ["--id", ID, "--seed", "-1"], ["--seed", "10000"]])
def test_bad_input_is_one_line(capsys, words):
    code, out, err = run(capsys, *words)
    assert (code, out, err.count("\n")) == (2, "", 1)
