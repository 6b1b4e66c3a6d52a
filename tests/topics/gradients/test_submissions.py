"""A class of fifty with planted mistakes, and hostile, broken and missing files, judged to a table."""

import csv
import io
import os
from collections import defaultdict

import numpy as np
import pytest
from homework import OF, Homework

from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.registry import get_scheme
from normviz.topics.gradients.answers import ANSWER_NAMES, make_inputs
from normviz.topics.gradients.submissions import SubmissionRow, format_csv_rows, judge_folder

LAYOUT, SHAPE = "NCHW", (4, 6, 4, 5)
BROADER = {"wrong-axis": {"wrong-axis", "channels-last"}, "channels": {"wrong-axis", "channels-last"}}
"""Mistakes that go by several keys."""


def write_class(tmp_path, scheme, count, per_student=False):
    """Write inputs and answers of a class; return their paths, and the planted mistake by student and array."""
    folder, inputs_path = tmp_path / "class", tmp_path / "inputs"
    folder.mkdir()
    inputs_path.mkdir()
    shared, planted = make_inputs(scheme, LAYOUT, SHAPE, 7), {}
    np.savez(tmp_path / "inputs.npz", **shared)
    for student in range(count):
        rng = np.random.default_rng([5, student])
        inputs = make_inputs(scheme, LAYOUT, SHAPE, student) if per_student else shared
        np.savez(inputs_path / f"s{student}.npz", **inputs)
        homework, answer = Homework(scheme, LAYOUT, inputs, groups=2, rng=rng), {}
        for name in ANSWER_NAMES:
            right = homework.answer(name)
            mistake = str(rng.choice(OF[name])) if rng.random() < 0.5 else None
            wrong = None if mistake is None else homework.answer(name, mistake)
            is_wrong = (
                wrong is not None
                and np.isfinite(wrong).all()
                and not (wrong.shape == right.shape and np.abs(wrong - right).max() < 1e-4 * np.abs(right).max())
            )
            answer[name] = wrong if is_wrong else right
            planted[f"s{student}", name] = mistake if is_wrong else None
        np.savez(folder / f"s{student}.npz", **answer)
    return inputs_path if per_student else tmp_path / "inputs.npz", folder, planted


@pytest.mark.parametrize(
    ("key", "count", "per_student"), [("batch", 50, False), ("layer-channels", 20, False), ("group", 3, True)]
)
def test_fifty_submissions(tmp_path, key, count, per_student):
    scheme = get_scheme(key, groups=2)
    inputs, folder, planted = write_class(tmp_path, scheme, count, per_student)
    rows = {(row.student, row.array): row for row in judge_folder(scheme, LAYOUT, inputs, folder)}
    assert set(rows) == set(planted)
    assert {at: row.verdict for at, row in rows.items()} == {
        at: "right" if mistake is None else "wrong" for at, mistake in planted.items()
    }
    wrong = {at: mistake for at, mistake in planted.items() if mistake}
    assert len(wrong) >= count
    unnamed = [
        (at, mistake, rows[at].mistake)
        for at, mistake in wrong.items()
        if not BROADER.get(mistake, {mistake}) & set(rows[at].mistake.split(" + "))
    ]
    assert len(unnamed) <= 0.05 * len(wrong), unnamed


@pytest.fixture
def small(tmp_path):
    """The paths of inputs and of a folder with one right answer."""
    inputs = make_inputs(get_scheme("batch"), "NC", (6, 4), 1)
    x, gamma, beta, eps, _ = inputs.values()
    np.savez(tmp_path / "inputs.npz", **inputs)
    (tmp_path / "class").mkdir()
    out = gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + beta
    np.savez(tmp_path / "class" / "right.npz", out=out)
    return tmp_path / "inputs.npz", tmp_path / "class", out


def test_broken_hostile_and_missing_files_are_rows(small):
    inputs, folder, out = small
    np.savez(folder / "nan.npz", out=out * np.nan)
    np.savez(folder / "objects.npz", out=np.array([{}]))
    np.savez(folder / "extra.npz", **{"out": out, "=1+1": out})
    np.savez(folder / "gradient.npz", dbeta=np.ones(4))
    np.savez_compressed(folder / "bomb.npz", out=np.zeros(2**24))
    (folder / "empty.npz").write_bytes(b"")
    (folder / "cut.npz").write_bytes((folder / "right.npz").read_bytes()[:100])
    (folder / "code.py").write_text("raise SystemExit")
    (folder / "folder.npz").mkdir()
    (folder / ".DS_Store").write_bytes(b"x")
    os.symlink("/dev/zero", folder / "link.npz")
    os.mkfifo(folder / "pipe.npz")
    found = defaultdict(dict)
    for row in judge_folder(get_scheme("batch"), "NC", inputs, folder):
        found[row.student][row.array] = row
    assert {name: found["right"][name].verdict for name in found["right"]} == {"out": "right", "dbeta": "missing"}
    assert found["extra"]["out"].verdict == "right"
    assert found["extra"]["=1+1"].verdict == "not judged"
    assert found["gradient"]["out"].verdict == "missing"
    reasons = {name: rows[""].explanation for name, rows in found.items() if "" in rows}
    assert set(reasons) == {"nan", "objects", "bomb", "empty", "cut", "code.py", "folder", "link", "pipe"}
    assert all(reasons.values())
    assert "unpacks to more" in reasons["bomb"]
    assert not any("\n" in reason for reason in reasons.values())


def test_an_answer_without_inputs_and_inputs_without_an_answer_are_rows(small, tmp_path):
    inputs, folder, _ = small
    (tmp_path / "inputs").mkdir()
    (tmp_path / "inputs" / "absent.npz").write_bytes(inputs.read_bytes())
    rows = judge_folder(get_scheme("batch"), "NC", tmp_path / "inputs", folder)
    assert [(row.student, row.verdict) for row in rows] == [("absent", "not judged"), ("right", "not judged")]
    assert "there is no class/absent.npz" in rows[0].explanation
    assert "there is no inputs/right.npz" in rows[1].explanation


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", " =1", "\t=1", "\r=1", "\x00=1", "＝1", "a\nb"])
def test_cells_are_no_formulas(name):
    table = format_csv_rows([SubmissionRow(name, name, "wrong", "no-eps", "1.0e-05", name)])
    _, row = csv.reader(io.StringIO(table))
    for cell in (row[0], row[1], row[5]):
        assert cell.startswith("'") == (name != "a\nb")
        assert "\n" not in cell
    assert row[2:5] == ["wrong", "no-eps", "1.0e-05"]


def test_the_command_writes_a_table_of_a_class(small, tmp_path, capsys):
    inputs, folder, out = small
    np.savez(folder / "=cmd.npz", out=out + 1)
    table = tmp_path / "out.csv"
    call = ["answer", "--scheme", "batch", "--layout", "NC", str(inputs), str(folder)]
    assert main([*call, "--csv", str(table)]) == 0
    assert capsys.readouterr() == ("", "")
    rows = list(csv.DictReader(io.StringIO(table.read_text("utf-8-sig"))))
    assert [(row["student"], row["verdict"]) for row in rows] == [("'=cmd", "wrong"), ("right", "right")]
    assert main(call) == 0
    assert capsys.readouterr().out == table.read_text("utf-8-sig")
    assert main([*call[:-1], str(folder / "right.npz"), "--csv", str(table)]) == 2


def test_an_exercise_is_another_one_for_each_seed_and_judged_with_its_own_inputs(tmp_path):
    for folder in ("inputs", "class"):
        (tmp_path / folder).mkdir()
    for seed, student in enumerate(("ada", "bea")):
        path = tmp_path / "inputs" / f"{student}.npz"
        options = ["--scheme", "layer", "--layout", "NC", "--shape", "5,4", "--seed", str(seed)]
        assert main(["exercise", *options, str(path)]) == 0
        inputs = dict(np.load(path))
        x, gamma, beta, eps = (inputs[name] for name in ("x", "gamma", "beta", "eps"))
        out = gamma * (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + eps) + beta
        np.savez(tmp_path / "class" / f"{student}.npz", out=out)
    rows = judge_folder(get_scheme("layer"), "NC", tmp_path / "inputs", tmp_path / "class")
    assert [row.verdict for row in rows] == ["right", "right"]
    (tmp_path / "inputs" / "bea.npz").write_bytes((tmp_path / "inputs" / "ada.npz").read_bytes())
    rows = judge_folder(get_scheme("layer"), "NC", tmp_path / "inputs", tmp_path / "class")
    assert [row.verdict for row in rows] == ["right", "wrong"]


def test_a_folder_without_answers_is_refused(small, tmp_path):
    (tmp_path / "nobody").mkdir()
    with pytest.raises(InvalidInput, match="holds no answers"):
        judge_folder(get_scheme("batch"), "NC", small[0], tmp_path / "nobody")
