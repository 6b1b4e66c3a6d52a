"""A task of homework: its files, its code, and what is taken from what comes back."""

import io
import re

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.core.fields import find_divisors
from normviz.core.layouts import LAYOUTS
from normviz.topics.gradients.answers import ANSWER_NAMES, INPUT_NAMES, judge_answer
from normviz.topics.gradients.case import MAX_ELEMENTS
from normviz.topics.gradients.exercise import LAYOUT_NAMES, MAX_LENGTHS, SCHEMES, Exercise, pack_npz, read_answers


def exercise(key="batch", layout="NCHW", lengths=(6, 4, 5, 6), dtype="float64", eps=1e-5, groups=2):
    return Exercise(key, groups, layout, lengths, dtype, eps, 0)


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=True)
    return stream.getvalue()


def test_every_layout_has_a_name_and_the_largest_task_can_be_judged():
    assert LAYOUT_NAMES.keys() == LAYOUTS.keys()
    assert np.prod(list(MAX_LENGTHS.values())) <= MAX_ELEMENTS


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key", SCHEMES)
def test_the_frame_runs_and_what_is_done_in_it_is_judged(key, layout, tmp_path, monkeypatch):
    task = exercise(key, layout, eps=1e-3)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "inputs.npz").write_bytes(pack_npz(task.make_inputs()))
    code = task.format_template()
    exec(code, {})
    assert list(np.load("answer.npz")) == []
    exec(code.replace("out = ...", "out = x", 1), {})
    content = (tmp_path / "answer.npz").read_bytes()
    found = judge_answer(task.scheme, task.layout, task.make_inputs(), read_answers("answer.npz", content)[0], task.eps)
    assert (list(found), found["out"].right) == (["out"], False)
    shapes = dict(re.findall(r"^(\w+) = \.\.\..* the shape (\(.*\))$", code, re.MULTILINE))
    assert shapes["out"] == shapes["dx"] == str(task.make_inputs()["x"].shape)
    assert shapes["dgamma"] == str(task.make_inputs()["gamma"].shape)


def test_the_inputs_are_those_of_the_task():
    inputs = exercise(dtype="float32").make_inputs()
    assert tuple(inputs) == INPUT_NAMES
    assert {inputs[name].dtype.name for name in ("x", "gamma", "beta", "dout")} == {"float32"}
    with np.load(io.BytesIO(pack_npz(inputs)), allow_pickle=False) as file:
        np.testing.assert_array_equal(file["x"], inputs["x"])


def test_words_and_command():
    assert exercise("group").describe() == "group normalization with G = 2 (N kept, H, W averaged, C in 2 groups)"
    assert exercise("batch", "NC").describe() == "batch normalization (N averaged, C kept)"
    assert "--groups 3 " in exercise("group", groups=3).format_command()
    assert "--groups" not in exercise("batch").format_command()


@pytest.mark.parametrize("name", ["dx.npy", "dx (1).npy", "DX.npy", "dx-final.npy"])
def test_a_npy_is_taken_by_its_name(name):
    arrays, problems = read_answers(name, npy(np.ones(3)))
    assert (list(arrays), problems) == (["dx"], {})


JUDGED_NOT = {
    "dgamma.npy": (npy(np.array([np.nan])), {"dgamma": "dgamma holds 1 NaN or infinite values"}),
    "dbeta.npy": (npy(np.zeros(MAX_ELEMENTS + 1, np.int8)), {"dbeta": "dbeta has 16,385 elements; up to 16,384"}),
    "words.npz": (pack_npz({"out": np.ones(2), "dx": np.array(["1"])}), {"dx": "dx holds str32 values"}),
    "other.npz": (pack_npz({"out": np.ones(2), "d_x": np.ones(2)}), {"d_x": "Did you mean dx?"}),
}


@pytest.mark.parametrize("name", JUDGED_NOT)
def test_what_cannot_be_judged_leaves_the_rest_of_the_file(name):
    content, wanted = JUDGED_NOT[name]
    arrays, problems = read_answers(name, content)
    assert list(arrays) == (["out"] if name.endswith(".npz") else [])
    assert list(problems) == list(wanted)
    assert all(words in problems[key] for key, words in wanted.items())


BAD = {
    "x.npy": npy(np.ones(3)),
    "dxx.npy": npy(np.ones(3)),
    "dx.csv": b"1,2",
    "dx.npy": npy(np.array([{}], dtype=object)),
    "out.npy": b"no numbers",
    "empty.npz": pack_npz({}),
    "cut.npz": pack_npz({"out": np.ones(9)})[:-30],
    "big.npz": b"0" * (6 * 2**20),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_answer_is_told_in_a_line(name):
    with pytest.raises(InvalidInput) as told:
        read_answers(name, BAD[name])
    assert "\n" not in str(told.value)
    assert len(str(told.value)) < 250


def test_groups_are_those_that_divide():
    for channels in (1, 6, MAX_LENGTHS["channels"]):
        for groups in find_divisors(channels):
            task = exercise("group", lengths=(2, 2, 2, channels), groups=groups)
            assert set(ANSWER_NAMES) >= set(
                judge_answer(task.scheme, "NCHW", task.make_inputs(), {"out": np.ones(task.shape)})
            )
