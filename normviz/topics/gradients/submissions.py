"""Answers of a class: a folder with a file per student, judged to a table with a row per student and array."""

import csv
import io
import re
from pathlib import Path
from typing import NamedTuple

from normviz.core.errors import InvalidInput
from normviz.core.scheme import Scheme
from normviz.data.bounds import MAX_UNPACKED_BYTES
from normviz.data.files import read_npz
from normviz.topics.gradients.answers import ANSWER_NAMES, AnswerJudge, AnswerVerdict
from normviz.topics.gradients.mistakes import MISTAKES

MAX_SUBMISSIONS = 2000
"""Most files in a folder of answers."""


class SubmissionRow(NamedTuple):
    """A row of the table of a class: the verdict on one array of one student.

    Attributes:
        student, array: the name of the file, without .npz, and of the array; empty for a file that cannot be judged.
        verdict: "right", "wrong", "missing" or "not judged".
        mistake: the keys of the mistakes, with + between them; empty if none is known.
        error: the largest difference from the right result over the largest magnitude.
        explanation: the mistake and its remedy, or why nothing was judged.
    """

    student: str
    array: str
    verdict: str
    mistake: str = ""
    error: str = ""
    explanation: str = ""


def judge_folder(
    scheme: Scheme, layout: str, inputs: Path, folder: Path, eps: float | None = None
) -> list[SubmissionRow]:
    """Judge every file of a folder; return a row for each array, in the order of the file names.

    A file that is broken, or no file, is a row with its reason. So is every array that it lacks and others have.

    Args:
        scheme, layout, eps: as of `AnswerJudge`.
        inputs: an .npz file, or a folder with one for each student, of the same name as the answer.
        folder: the folder of answers, .npz files. Names that begin with a point are left out.

    Raises:
        InvalidInput: unusable inputs in a single file, or a folder that cannot be read, is empty or too full.
    """
    names = _list_names(folder) if not inputs.is_dir() else sorted({*_list_names(folder), *_list_names(inputs)})
    if not names:
        raise InvalidInput(f"{folder} holds no answers; put one .npz file for each student there.")
    if len(names) > MAX_SUBMISSIONS:
        raise InvalidInput(f"{folder} holds {len(names):,} answers; up to {MAX_SUBMISSIONS:,} are judged.")
    shared = None if inputs.is_dir() else AnswerJudge(scheme, layout, _read_arrays(inputs), eps, keeps_results=True)
    found: dict[str, dict[str, AnswerVerdict] | InvalidInput] = {}
    for name in names:
        try:
            answer = _read_arrays(folder / name)
            judge = shared or AnswerJudge(scheme, layout, _read_arrays(inputs / name), eps)
            found[name] = judge.judge(answer)
        except InvalidInput as error:
            found[name] = error
    arrays = {array for verdicts in found.values() if isinstance(verdicts, dict) for array in verdicts}
    wanted = [array for array in ANSWER_NAMES if array in arrays]
    return [row for name in names for row in _make_rows(name.removesuffix(".npz"), found[name], wanted)]


def _make_rows(student: str, found: dict[str, AnswerVerdict] | InvalidInput, wanted: list[str]) -> list[SubmissionRow]:
    if isinstance(found, InvalidInput):
        return [SubmissionRow(student, "", "not judged", explanation=str(found))]
    missing = [name for name in wanted if name not in found]
    return [
        *(_describe_verdict(student, name, verdict) for name, verdict in found.items()),
        *(SubmissionRow(student, name, "missing", explanation=f"the file holds no {name}.") for name in missing),
    ]


def _describe_verdict(student: str, name: str, verdict: AnswerVerdict) -> SubmissionRow:
    word = "right" if verdict.right else "wrong" if verdict.problem is None else "not judged"
    mistakes = " + ".join(MISTAKES[key].key for key in (verdict.mistake, verdict.beside) if key)
    error = "" if verdict.error is None else f"{verdict.error:.1e}"
    return SubmissionRow(student, name, word, mistakes, error, verdict.explanation)


def format_csv_rows(rows: list[SubmissionRow]) -> str:
    """Return rows as text of a .csv file, with an apostrophe before cells that a spreadsheet would run as formulas."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(SubmissionRow._fields)
    writer.writerows([_escape_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _escape_cell(cell: str) -> str:
    """Return a cell without control characters or lone surrogates, and with an apostrophe before a formula's sign."""
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff]", "\ufffd", cell)
    signs = ("=", "+", "-", "@", "\uff1d", "\uff0b", "\uff0d", "\uff20")  # and their full-width forms
    return f"'{plain}" if plain.lstrip(" \ufffd").startswith(signs) else plain


def _list_names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise InvalidInput(f"{folder} cannot be read: {error.strerror}.") from error


def _read_arrays(path: Path) -> dict:
    """Return the arrays of an .npz file; raise InvalidInput for a missing file, a link, a pipe or a folder."""
    if not path.exists() and not path.is_symlink():
        raise InvalidInput(f"there is no {path.parent.name}/{path.name}.")
    if path.is_symlink() or not path.is_file():
        raise InvalidInput("this is not a file of its own; links, folders and pipes are not read.")
    if path.suffix.lower() != ".npz":
        raise InvalidInput("this is not an .npz file; save one with numpy.savez.")
    try:
        with path.open("rb") as file:
            return read_npz(file.read(MAX_UNPACKED_BYTES + 1))
    except OSError as error:
        raise InvalidInput(f"this file cannot be read: {error.strerror}.") from error
