"""Every array of an answer is judged by itself, on the page as by the command."""

import json

import numpy as np
import pytest
from lab_page import said
from test_gradients_page import npy, npz, open_page, right_answer, upload

from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.topics.gradients.answers import AnswerVerdict, judge_answer, make_inputs

BATCH = SCHEMES["batch"]
INPUTS = make_inputs(BATCH, "NC", (6, 4), 1)
X, GAMMA, BETA, EPS, DOUT = INPUTS.values()
OUT = GAMMA * (X - X.mean(0)) / np.sqrt(X.var(0) + EPS) + BETA
DBETA = DOUT.sum(0)

NOT_JUDGED = {
    "NaN": ("dx", DOUT * np.nan, "dx holds 24 NaN or infinite values; finite ones are needed."),
    "infinity": ("dx", np.full((6, 4), -np.inf), "dx holds 24 NaN or infinite values; finite ones are needed."),
    "complex": ("dx", DOUT * 1j, "dx holds complex128 values; real numbers are needed."),
    "words": ("dx", np.array(["one"]), "dx holds str96 values; real numbers are needed."),
    "too many": ("dx", np.zeros(20_000), "dx has 20,000 elements; up to 16,384 are judged."),
    "five axes": ("dx", np.zeros((1,) * 5), "dx has 5 axes; up to 4 are read."),
    "another case": ("Out", OUT, "'Out' is no name in the answer; out, dx, dgamma, dbeta are. Did you mean out?"),
    "misspelt": ("d_gama", OUT, "'d_gama' is no name in the answer; out, dx, dgamma, dbeta are. Did you mean dgamma?"),
    "unknown": ("y" * 60, OUT, f"'{'y' * 40}' is no name in the answer; out, dx, dgamma, dbeta are."),
}


@pytest.mark.parametrize("case", NOT_JUDGED)
def test_what_cannot_be_judged_leaves_the_verdicts_on_the_others(case):
    name, array, problem = NOT_JUDGED[case]
    alone = judge_answer(BATCH, "NC", INPUTS, {"out": OUT, "dbeta": DBETA + 1})
    found = judge_answer(BATCH, "NC", INPUTS, {name: array, "out": OUT, "dbeta": DBETA + 1})
    assert found == alone | {name: AnswerVerdict(False, None, problem=problem)}
    assert found[name].to_record() == {"right": False, "error": None, "mistake": None, "problem": problem}
    assert list(alone["out"].to_record()) == ["right", "error", "mistake"]


def test_a_gradient_without_dout_leaves_the_verdict_on_out():
    inputs = {name: array for name, array in INPUTS.items() if name != "dout"}
    found = judge_answer(BATCH, "NC", inputs, {"dx": OUT, "out": OUT})
    assert list(found) == ["out", "dx"]
    assert (found["out"].right, found["dx"].problem) == (True, "dx is judged by dout, and the inputs hold none.")


def test_an_answer_of_which_nothing_can_be_judged_is_refused_with_every_reason():
    with pytest.raises(InvalidInput) as told:
        judge_answer(BATCH, "NC", INPUTS, {"out": OUT * np.nan, "dy": OUT})
    assert "out holds 24 NaN" in str(told.value)
    assert "Did you mean dx?" in str(told.value)


# --- the command ----------------------------------------------------------------------------------------------------


@pytest.fixture
def files(tmp_path):
    np.savez(tmp_path / "inputs.npz", **INPUTS)
    np.savez(tmp_path / "answer.npz", out=OUT, dx=DOUT * np.nan, d_gamma=GAMMA, dbeta=DBETA + 1)
    return [str(tmp_path / "inputs.npz"), str(tmp_path / "answer.npz")]


def test_the_command_judges_the_rest(files, capsys):
    assert main(["answer", "--scheme", "batch", "--layout", "NC", *files, "--json"]) == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert [(name, verdict["right"], verdict.get("problem")) for name, verdict in found.items()] == [
        ("out", True, None),
        ("dx", False, NOT_JUDGED["NaN"][2]),
        ("dbeta", False, None),
        ("d_gamma", False, "'d_gamma' is no name in the answer; out, dx, dgamma, dbeta are. Did you mean dgamma?"),
    ]
    assert "normviz: dx holds 24 NaN" in printed.err
    assert printed.err.count("\n") == 3


def test_the_table_of_the_command_says_what_is_not_judged(files, capsys):
    assert main(["answer", "--scheme", "batch", "--layout", "NC", *files]) == 0
    lines = [line.split(None, 1) for line in capsys.readouterr().out.splitlines()]
    assert [name for name, _ in lines] == ["out", "dx", "dbeta", "'d_gamma'"]
    assert [words.partition(",")[0] for _, words in lines] == ["right", "not judged", "wrong", "not judged"]


# --- the page -------------------------------------------------------------------------------------------------------


def test_the_page_says_the_same():
    at = open_page(show="answer")
    right = right_answer(at)
    upload(at, "answer.npz", npz(out=right["out"], dx=right["dx"] * np.nan, d_gamma=np.ones(3)))
    (good,) = [text.value for text in at.success]
    assert good.startswith("**out is right**")
    (not_judged,) = [text.value for text in at.warning]
    assert not_judged.startswith(f"**dx cannot be judged**: dx holds {right['dx'].size} NaN or infinite values")
    assert at.error[0].value.endswith("Did you mean dgamma? out is still judged.")
    upload(at, "dx.npy", npy(right["dx"]))
    assert (len(at.success), len(at.warning), len(at.error)) == (2, 0, 0)


def test_the_page_needs_no_array_that_can_be_judged():
    at = open_page(show="answer")
    upload(at, "dbeta.npy", npy(np.array([np.inf])))
    assert (len(at.success), len(at.warning), len(at.error)) == (0, 1, 0)


def test_the_page_tells_a_few_of_many_unknown_names():
    at = open_page(show="answer")
    upload(at, "answer.npz", npz(**{f"name{k}": np.ones(1) for k in range(50)}))
    assert at.error[0].value.count("is no name") == 3
    assert "47 more names are unknown." in at.error[0].value
    assert "None of the mistakes" not in said(at)
