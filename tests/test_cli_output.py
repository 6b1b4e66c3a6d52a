"""What the commands write and print arrives completely, or an exit code and one line say that it does not."""

import errno
import io
import json
import os
import resource
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest
from pairs import pairwise
from strategies import uneven_array

from normviz.cli import schemes
from normviz.cli.main import build_parser, main
from normviz.core.backward import backward
from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.topics.gradients.answers import make_inputs

BEFORE = b"the result of an earlier run"


MODEL = """
import torch

def make():
    return torch.nn.LayerNorm(8), torch.arange(32.0).reshape(4, 8).sin()
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a tensor, its gradient, homework with a right answer, and a model."""
    for seed, name in enumerate(("x", "dy")):
        np.save(tmp_path / f"{name}.npy", uneven_array((4, 4, 4, 3), seed))
    inputs = make_inputs(SCHEMES["batch"], "NC", (6, 4), 1)
    x, gamma, beta, eps, _ = inputs.values()
    np.savez(tmp_path / "inputs.npz", **inputs)
    (tmp_path / "model_for_the_command.py").write_text(MODEL)
    np.savez(tmp_path / "answer.npz", out=gamma * (x - x.mean(0)) / np.sqrt(x.var(0) + eps) + beta)
    return tmp_path


CALLS = {
    "schemes": ["--json"],
    "normalize": ["--scheme", "batch", "x.npy", "out.npy"],
    "backward": ["--scheme", "batch", "x.npy", "dy.npy", "out.npy"],
    "detect": ["x.npy", "x.npy", "--layout", "NHWC", "--json"],
    "exercise": ["--scheme", "batch", "--layout", "NC", "--shape", "6,4", "--seed", "3", "out.npy"],
    "answer": ["--scheme", "batch", "--layout", "NC", "inputs.npz", "answer.npz", "--json"],
    "inspect": ["model_for_the_command:make"],
    "record": ["model_for_the_command:make", "out.npz"],
    "table1": ["--schemes", "batch", "--steps", "2", "--json"],
    "experiment": [],
    "sweep": [],
    "claims": ["--id", "T01", "--json"],
    "design": ["--layer", "dense", "--need", "dataset-rescaling", "--json"],
    "lessons": ["--json"],
    "export": ["/?scheme=batch", "page.py"],
    "serve": ["--help"],
}
"""A short call of every command."""

SILENT = {"normalize", "backward", "exercise", "export"}


def test_every_command_is_called():
    (commands,) = (action.choices for action in build_parser()._subparsers._group_actions)
    assert list(commands) == list(CALLS)


def called(name, stdout, monkeypatch, extra=()):
    """The exit code of a command whose standard output is this."""
    monkeypatch.setattr(sys, "stdout", stdout)
    try:
        return main([name, *CALLS[name], *extra])
    except SystemExit as end:  # after --help
        return end.code


@pytest.mark.parametrize("name", CALLS)
def test_a_full_disk_behind_standard_output_is_told(name, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    with open("/dev/full", "w") as full:
        code = called(name, full, monkeypatch)
    assert code == (0 if name in SILENT else 2)
    told = "" if name in SILENT else "normviz: standard output cannot be written: No space left on device.\n"
    assert capsys.readouterr().err == told


@pytest.mark.parametrize("name", CALLS)
def test_a_closed_standard_output_is_told(name, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    code = called(name, None, monkeypatch)
    assert code == (0 if name in SILENT else 2)
    told = "normviz: standard output is closed, so the result is lost; leave it open or redirect it.\n"
    assert capsys.readouterr().err == ("" if name in SILENT else told)


@pytest.mark.parametrize("name", CALLS)
def test_a_reader_that_goes_is_no_error_in_words(name, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    reading, writing = os.pipe()
    os.close(reading)
    with open(writing, "w") as pipe:
        code = called(name, pipe, monkeypatch)
    assert code == (0 if name in SILENT else 1)
    assert capsys.readouterr().err == ""


def printed(name, encoding, monkeypatch):
    content = io.BytesIO()
    stream = io.TextIOWrapper(content, encoding=encoding)
    assert called(name, stream, monkeypatch) == 0
    return content.getvalue().decode(encoding)


@pytest.mark.parametrize("name", CALLS)
def test_a_terminal_of_few_characters_gets_escapes_for_the_others(name, folder, monkeypatch):
    monkeypatch.chdir(folder)
    wide, narrow, latin = (printed(name, encoding, monkeypatch) for encoding in ("utf-8", "ascii", "latin-1"))
    assert (json.dumps(wide) == json.dumps(narrow)) == wide.isascii()
    if "--json" in CALLS[name]:
        for text in (narrow, latin):
            np.testing.assert_equal(json.loads(text), json.loads(wide))


def test_half_of_a_character_and_one_beyond_16_bits_are_printed(monkeypatch):
    """A file name that is not UTF-8 comes as half of a surrogate pair."""
    from normviz.data.output import buffer_stdout

    for encoding in ("utf-8", "ascii"):
        content = io.BytesIO()
        monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(content, encoding=encoding))
        with buffer_stdout():
            print(json.dumps("x̂\udcff𝒩", ensure_ascii=False))
        assert json.loads(content.getvalue().decode(encoding)) == "x̂\udcff𝒩"


def test_an_error_leaves_no_part_of_the_output(capsys, monkeypatch):
    def half(*_):
        print("half of it")
        raise InvalidInput("this is wrong.")

    monkeypatch.setattr(schemes, "run", half)
    assert main(["schemes"]) == 2
    assert capsys.readouterr() == ("", "normviz: this is wrong.\n")


@pytest.mark.parametrize(
    ("error", "code", "words"),
    [(KeyboardInterrupt, 130, "interrupted."), (MemoryError, 2, "there is too little memory.")],
)
def test_an_interrupted_or_too_large_command_ends_in_words(error, code, words, capsys, monkeypatch):
    def stop(*_):
        print("half of it")
        raise error

    monkeypatch.setattr(schemes, "run", stop)
    assert main(["schemes"]) == code
    assert capsys.readouterr() == ("", f"normviz: {words}\n")


def test_a_message_is_one_line_whatever_a_file_is_called(capsys):
    assert main(["normalize", "--scheme", "batch", "no\n\x1b[31m\r\x9b.npy", "out.npy"]) == 2
    assert (
        capsys.readouterr().err
        == "normviz: no\\n\\u001b[31m\\r\\u009b.npy cannot be read: No such file or directory.\n"
    )


@pytest.mark.parametrize("which", ["inputs.npz", "answer.npz"])
def test_of_homework_no_more_is_read_than_is_judged(which, folder, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    with open(which, "r+b") as file:
        file.truncate(2**30)  # without taking any space
    tracemalloc.start()
    try:
        assert main(["answer", *CALLS["answer"]]) == 2
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert (
        capsys.readouterr().err
        == "normviz: the file has more than the 16,777,216 bytes of a .npz file that are read.\n"
    )
    assert peak < 50e6


# --- in a process of its own --------------------------------------------------------------------------------------


def command(*arguments, environment=(), before=None, **options):
    """A finished process: `before` runs in it first."""
    return subprocess.run(
        [sys.executable, "-m", "normviz", *map(str, arguments)],
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", **dict(environment)},
        timeout=120,
        preexec_fn=before,
        **options,
    )


def small_disk(most):
    """No file may grow beyond so many bytes."""
    return lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (most, most))


WHOLE = 128 + 8 * 4 * 4 * 4 * 3
"""The bytes of the output."""


@pytest.mark.parametrize(
    ("inputs", "most", "existing"),
    pairwise([("normalize", "x.npy"), ("backward", "x.npy", "dy.npy")], [0, 128, WHOLE - 1], [False, True]),
)
def test_a_disk_that_runs_full_leaves_nothing_behind(inputs, most, existing, folder):
    name, *paths = inputs
    output = folder / "out.npy"
    if existing:
        output.write_bytes(BEFORE)
    there = sorted(folder.iterdir())
    done = command(name, "--scheme", "batch", *(folder / path for path in paths), output, before=small_disk(most))
    words = os.strerror(errno.EFBIG)
    assert (done.returncode, done.stderr.decode()) == (2, f"normviz: {output} cannot be written: {words}.\n")
    assert sorted(folder.iterdir()) == there
    assert not existing or output.read_bytes() == BEFORE


def test_a_disk_that_is_just_large_enough_is_enough(folder):
    done = command("normalize", "--scheme", "batch", folder / "x.npy", folder / "out.npy", before=small_disk(WHOLE))
    assert (done.returncode, done.stderr) == (0, b"")
    np.testing.assert_array_equal(np.load(folder / "out.npy"), normalize(np.load(folder / "x.npy"), SCHEMES["batch"]).y)


def arguments_to(path, folder):
    return "backward", "--scheme", "layer", folder / "x.npy", folder / "dy.npy", path


def expected(folder):
    return backward(np.load(folder / "x.npy"), np.load(folder / "dy.npy"), SCHEMES["layer"])


@pytest.fixture
def standard_output(folder):
    """A link to standard output, so that a fault replaces the link, and not the system's device."""
    (folder / "stdout").symlink_to("/proc/self/fd/1")
    return folder / "stdout"


def test_a_result_goes_down_a_pipe(folder, standard_output):
    done = command(*arguments_to(standard_output, folder), stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    np.testing.assert_array_equal(np.load(io.BytesIO(done.stdout)), expected(folder))
    assert standard_output.is_symlink()


def test_a_result_goes_where_standard_output_stands(folder, standard_output):
    """Also into a file, behind what is there, as `>>` and a group of commands want it."""
    with open(folder / "all", "wb") as all_of_it:
        all_of_it.write(BEFORE)
        all_of_it.flush()
        done = command(*arguments_to(standard_output, folder), stdout=all_of_it)
        all_of_it.write(BEFORE)
    assert (done.returncode, done.stderr) == (0, b"")
    content = (folder / "all").read_bytes()
    assert content.startswith(BEFORE)
    assert content.endswith(BEFORE)
    np.testing.assert_array_equal(np.load(io.BytesIO(content[len(BEFORE) : -len(BEFORE)])), expected(folder))


def test_a_result_for_a_reader_that_is_gone_ends_quietly(folder, standard_output):
    reading, writing = os.pipe()
    os.close(reading)
    done = command(*arguments_to(standard_output, folder), stdout=writing)
    os.close(writing)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("arguments", [["schemes", "--json"], ["--help"], ["--version"], ["experiment"]])
def test_a_process_with_a_full_standard_output_says_so(arguments):
    with open("/dev/full", "wb") as full:
        done = command(*arguments, stdout=full)
    words = b"normviz: standard output cannot be written: No space left on device.\n"
    assert (done.returncode, done.stderr) == (2, words)


@pytest.mark.parametrize("environment", [{}, {"PYTHONUNBUFFERED": "1"}], ids=["buffered", "unbuffered"])
def test_a_disk_that_runs_full_behind_standard_output_is_told(environment, tmp_path):
    environment = {"PYTHONUNBUFFERED": "", **environment}
    whole = command("schemes", "--json", environment=environment, stdout=subprocess.PIPE)
    assert (whole.returncode, len(json.loads(whole.stdout))) == (0, len(SCHEMES))
    with open(tmp_path / "out", "wb") as file:
        done = command("schemes", "--json", environment=environment, stdout=file, before=small_disk(1024))
    words = os.strerror(errno.EFBIG)
    assert (done.returncode, done.stderr.decode()) == (2, f"normviz: standard output cannot be written: {words}.\n")


@pytest.mark.parametrize("arguments", [["schemes"], ["--help"]])
def test_a_process_without_standard_output_says_so(arguments):
    done = command(*arguments, before=lambda: os.close(1))
    assert done.returncode == 2
    assert done.stderr.startswith(b"normviz: standard output is closed")
    assert done.stderr.count(b"\n") == 1


@pytest.mark.parametrize("state", ["closed", "full"])
def test_messages_that_cannot_be_printed_change_neither_output_nor_exit_code(state, folder):
    np.savez(folder / "answer.npz", out=np.ones((6, 4)))
    call = ["answer", *(folder / word if word.endswith(".npz") else word for word in CALLS["answer"])]
    usual = command(*call, stdout=subprocess.PIPE)
    assert (usual.returncode, usual.stderr.count(b"\n")) == (0, 1)
    with open("/dev/full", "wb") as full:
        options = {"before": lambda: os.close(2) if state == "closed" else os.dup2(full.fileno(), 2)}
        done = command(*call, stdout=subprocess.PIPE, **options)
    assert (done.returncode, done.stdout, done.stderr) == (0, usual.stdout, b"")


ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}


@pytest.mark.parametrize("arguments", [["schemes", "--json"], ["--help"], ["claims", "--id", "T01"], ["table1", "-h"]])
def test_a_process_in_a_locale_of_few_characters(arguments):
    done = command(*arguments, environment=ASCII, stdout=subprocess.PIPE)
    assert (done.returncode, done.stderr) == (0, b"")
    assert done.stdout.isascii()
    assert b"\\u" in done.stdout
