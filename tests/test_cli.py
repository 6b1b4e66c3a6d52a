import dataclasses
import json
import os
import stat
import subprocess
import sys

import numpy as np
import pytest
from strategies import uneven_array

import normviz
from normviz.cli import main as command_line
from normviz.cli.main import main
from normviz.core.backward import backward
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.gradients.answers import make_inputs
from normviz.topics.gradients.mistakes import MISTAKES

EVERY = pytest.mark.parametrize("key", SCHEMES)
SHAPE = (4, 3, 5, 6)


@pytest.fixture
def files(tmp_path):
    """The paths of an input that holds a tensor and of an output that is not there yet."""
    paths = tmp_path / "in.npy", tmp_path / "out.npy"
    np.save(paths[0], uneven_array(SHAPE, 1))
    return paths


def run(*arguments):
    return main([str(argument) for argument in arguments])


def refused(capsys, *arguments):
    """The one line that bad input is told in."""
    assert run(*arguments) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith("normviz: ")
    assert printed.err.count("\n") == 1
    assert printed.err.endswith("\n")
    assert "Traceback" not in printed.err
    return printed.err


# --- schemes ----------------------------------------------------------------------------------------------------


def test_schemes_as_json_are_the_registry(capsys):
    assert run("schemes", "--json") == 0
    records = json.loads(capsys.readouterr().out)
    assert [record["key"] for record in records] == list(SCHEMES)
    for record, row in zip(records, SCHEMES.values(), strict=True):
        for name in ("summation", "suppression"):
            field = getattr(row, name)
            if field is None:
                assert record[name] is None
            else:
                assert list(record[name]) == list(row.axes)
                text = ",".join(f"{axis}={rule}" for axis, rule in record[name].items())
                assert Field.parse(text, row.axes) == field
        assert (record["name"], record["acts_on"], record["eps"]) == (row.name, row.acts_on, row.eps)
        for name in ("gain", "bias", "keeps"):
            expected = getattr(row, name)
            assert record[name] == (None if expected is None else list(expected))
        assert (record["reference"], record["url"]) == (row.reference.text, row.reference.url)
        assert record["also"] == [{"reference": each.text, "url": each.url} for each in row.also]
        assert (record["weight"], record["about"]) == (row.weight, row.about)


def test_schemes_as_a_table_name_every_scheme_with_its_fields_and_paper(capsys):
    assert run("schemes") == 0
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[0] for line in lines[::2]] == list(SCHEMES)
    for line, row in zip(lines[::2], SCHEMES.values(), strict=True):
        assert all(str(field) in line for field in row.fields)
    assert [line.strip() for line in lines[1::2]] == [
        "; also ".join(each.text for each in row.references) for row in SCHEMES.values()
    ]


# --- normalize --------------------------------------------------------------------------------------------------


@EVERY
def test_normalize_writes_what_the_core_computes(key, files, capsys):
    assert run("normalize", "--scheme", key, *files) == 0
    np.testing.assert_array_equal(np.load(files[1]), normalize(np.load(files[0]), SCHEMES[key]).y)
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert sorted(path.name for path in files[0].parent.iterdir()) == ["in.npy", "out.npy"]


@pytest.mark.parametrize(
    ("options", "scheme", "eps"),
    [
        (["--scheme", "group", "--groups", "3"], get_scheme("group", groups=3), None),
        (["--scheme", "divisive", "--radius", "2"], get_scheme("divisive", radius=2), None),
        (["--scheme", "divisive", "--radius", "9" * 30], get_scheme("divisive", radius=9), None),
        (["--scheme", "batch", "--eps", "0"], get_scheme("batch"), 0.0),
        (["--scheme", "batch", "--eps", "0.5"], get_scheme("batch"), 0.5),
        (
            ["--scheme", "custom", "--field", "N=full,C=groups(2)"],
            SCHEMES["custom"].with_fields(*[Field.parse("full,own,own,groups(2)")] * 2),
            None,
        ),
    ],
)
def test_options_reach_the_core(options, scheme, eps, files):
    assert run("normalize", *options, *files) == 0
    np.testing.assert_array_equal(np.load(files[1]), normalize(np.load(files[0]), scheme, eps).y)


def test_float32_stays_float32(files):
    np.save(files[0], np.load(files[0]).astype(np.float32))
    assert run("normalize", "--scheme", "layer", *files) == 0
    assert np.load(files[1]).dtype == np.float32


def test_an_output_is_replaced_also_when_it_is_the_input(files):
    expected = normalize(np.load(files[0]), SCHEMES["batch"]).y
    assert run("normalize", "--scheme", "batch", files[0], files[0]) == 0
    np.testing.assert_array_equal(np.load(files[0]), expected)


def test_an_output_has_the_permissions_of_any_new_file(files):
    (files[1].parent / "plain").touch()
    assert run("normalize", "--scheme", "batch", *files) == 0
    assert stat.S_IMODE(files[1].stat().st_mode) == stat.S_IMODE((files[1].parent / "plain").stat().st_mode)


# --- bad input --------------------------------------------------------------------------------------------------


def saved(array, **options):
    return lambda path: np.save(path, array, **options)


BAD_FILES = {
    "a zero in the shape": (saved(np.ones((2, 0, 3, 4))), "H = 0: every axis needs at least one element."),
    "three axes": (saved(np.ones((2, 3, 4))), "in.npy has 3 axes; N, H, W, C are needed."),
    "five axes": (saved(np.ones((1,) * 5)), "in.npy has 5 axes"),
    "NaN": (saved(np.full((1, 1, 1, 3), np.nan)), "in.npy holds 3 NaN or infinite values; finite ones are needed."),
    "infinity": (saved(np.full((1, 1, 1, 1), -np.inf)), "in.npy holds 1 NaN or infinite values"),
    "numbers that overflow": (saved(np.array([-1.7e308, 1.7e308]).reshape(2, 1, 1, 1)), "too large"),
    "not an array": (lambda path: path.write_text("1, 2, 3"), "this is not a .npy file that NumPy wrote"),
    "an empty file": (lambda path: path.write_bytes(b""), "this is not a .npy file that NumPy wrote"),
    "an object array": (saved(np.array([None]), allow_pickle=True), "this file holds Python objects"),
    "a complex array": (saved(np.ones(SHAPE, complex)), "holds complex128 values; real numbers are needed."),
    "no file": (lambda path: path.unlink(missing_ok=True), "in.npy cannot be read: No such file or directory."),
    "a folder": (lambda path: (path.unlink(), path.mkdir()), "in.npy cannot be read: Is a directory."),
}

BAD_OPTIONS = {
    "groups that do not divide": (
        ["--scheme", "group", "--groups", "4"],
        "4 groups do not divide C = 6; 1, 2, 3 or 6 do.",
    ),
    "no groups": (["--scheme", "group", "--groups", "0"], "groups(0) is not a rule"),
    "a part of a group": (["--scheme", "group", "--groups", "1.5"], "invalid int value: '1.5'"),
    "a negative radius": (["--scheme", "divisive", "--radius", "-1"], "window(-1) is not a rule"),
    "an unknown scheme": (["--scheme", "bach"], "'bach' is not a scheme; did you mean batch?"),
    "a negative epsilon": (["--scheme", "batch", "--eps=-1e-5"], "ε is a number from 0; this one is -1e-05."),
    "a negative whole epsilon": (["--scheme", "batch", "--eps", "-1"], "ε is a number from 0; this one is -1.0."),
    "an epsilon that is no number": (["--scheme", "batch", "--eps", "nan"], "ε is a number from 0; this one is nan."),
    "an epsilon in words": (["--scheme", "batch", "--eps", "small"], "invalid float value: 'small'"),
    "no such rule": (["--scheme", "custom", "--field", "N=most"], "'most' is not a rule"),
    "no such axis": (["--scheme", "custom", "--field", "D=full"], "'D' is not an axis"),
    "a short field": (["--scheme", "custom", "--field", "full"], "a field has a rule for each of N, H, W, C"),
    "a field that does not fit": (["--scheme", "custom", "--field", "H=groups(2)"], "2 groups do not divide H = 3"),
    "a field that is not asked for": (["--scheme", "batch", "--field", "N=full"], "--field goes with --scheme custom"),
    "an unknown option": (["--scheme", "batch", "--fast"], "unrecognized arguments: --fast"),
    "no scheme": ([], "the following arguments are required: --scheme"),
}


@pytest.mark.parametrize("before", [None, b"the result of an earlier run"], ids=["new", "existing"])
@pytest.mark.parametrize("case", BAD_FILES)
def test_bad_files_are_refused_and_leave_nothing_behind(case, before, files, capsys):
    make, message = BAD_FILES[case]
    make(files[0])
    assert_refused(["--scheme", "batch"], message, before, files, capsys)


@pytest.mark.parametrize("before", [None, b"the result of an earlier run"], ids=["new", "existing"])
@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_bad_options_are_refused_and_leave_nothing_behind(case, before, files, capsys):
    assert_refused(*BAD_OPTIONS[case], before, files, capsys)


def assert_refused(options, message, before, files, capsys, command="normalize"):
    if before is not None:
        files[-1].write_bytes(before)
    there = sorted(files[-1].parent.iterdir())
    assert message in refused(capsys, command, *options, *files)
    assert sorted(files[-1].parent.iterdir()) == there
    assert before is None or files[-1].read_bytes() == before


def test_an_output_folder_that_is_not_there_is_not_made(files, capsys):
    output = files[1].parent / "folder" / "out.npy"
    assert "out.npy cannot be written: No such file" in refused(
        capsys, "normalize", "--scheme", "batch", files[0], output
    )
    assert not output.parent.exists()


@pytest.mark.parametrize("name", ["folder", "."])
def test_an_output_that_is_a_folder_is_refused(name, files, capsys):
    (files[1].parent / "folder").mkdir()
    there = sorted(files[1].parent.rglob("*"))
    message = refused(capsys, "normalize", "--scheme", "batch", files[0], files[1].parent / name)
    assert "cannot be written" in message
    assert sorted(files[1].parent.rglob("*")) == there


@pytest.mark.parametrize("arguments", [[], ["denormalize"], ["normalize"], ["schemes", "extra"], ["--loud"]])
def test_usage_errors_are_told_in_one_line_too(arguments, capsys):
    assert "normviz --help" in refused(capsys, *arguments)


def test_help_is_no_error(capsys):
    with pytest.raises(SystemExit) as end:
        run("normalize", "--help")
    assert end.value.code == 0
    assert "--groups" in capsys.readouterr().out


# --- backward -----------------------------------------------------------------------------------------------------


@pytest.fixture
def three(tmp_path):
    """The paths of x and ∂L/∂y, which are there, and of ∂L/∂x, which is not."""
    paths = [tmp_path / name for name in ("x.npy", "dy.npy", "dx.npy")]
    for seed, path in enumerate(paths[:2]):
        np.save(path, uneven_array(SHAPE, seed))
    return paths


@EVERY
def test_backward_writes_what_the_core_computes(key, three, capsys):
    assert run("backward", "--scheme", key, *three) == 0
    x, dy, dx = map(np.load, three)
    np.testing.assert_array_equal(dx, backward(x, dy, SCHEMES[key]))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")
    assert sorted(path.name for path in three[0].parent.iterdir()) == ["dx.npy", "dy.npy", "x.npy"]


def test_the_options_of_backward_reach_the_core(three):
    np.save(three[0], np.load(three[0]).astype(np.float32))
    options = ["--scheme", "custom", "--field", "N=full,C=groups(3)", "--eps", "0.5"]
    assert run("backward", *options, *three) == 0
    scheme = SCHEMES["custom"].with_fields(*[Field.parse("full,own,own,groups(3)")] * 2)
    np.testing.assert_array_equal(np.load(three[2]), backward(*map(np.load, three[:2]), scheme, 0.5))
    assert np.load(three[2]).dtype == np.float32


@pytest.mark.parametrize("before", [None, b"the result of an earlier run"], ids=["new", "existing"])
@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("case", BAD_FILES)
def test_backward_refuses_bad_files_and_leaves_nothing_behind(case, which, before, three, capsys):
    make, message = BAD_FILES[case]
    if case == "numbers that overflow":  # of x with the gradient's shape, and of the gradient
        np.save(three[1 - which], np.ones((2, 1, 1, 1)))
    make(three[which])
    message = message.replace("in.npy", three[which].name)
    assert_refused(["--scheme", "batch"], message, before, three, capsys, "backward")


@pytest.mark.parametrize("case", BAD_OPTIONS)
def test_backward_refuses_bad_options_and_leaves_nothing_behind(case, three, capsys):
    assert_refused(*BAD_OPTIONS[case], None, three, capsys, "backward")


def test_backward_refuses_a_gradient_of_another_shape(three, capsys):
    np.save(three[1], uneven_array((3, 4, 5, 1), 1))
    assert_refused(["--scheme", "batch"], "dy.npy has the shape (3, 4, 5, 1)", None, three, capsys, "backward")


# --- answer -------------------------------------------------------------------------------------------------------


@pytest.fixture
def homework(tmp_path):
    """The paths of inputs to batch norm of (N, C), and of an answer to them: out right, dx without the mean's path."""
    inputs = make_inputs(SCHEMES["batch"], "NC", (6, 4), 1)
    x, gamma, beta, eps, dout = inputs.values()
    r = 1 / np.sqrt(x.var(0) + eps)
    xhat = (x - x.mean(0)) * r
    g = dout * gamma
    paths = tmp_path / "inputs.npz", tmp_path / "answer.npz"
    np.savez(paths[0], **inputs)
    np.savez(paths[1], out=gamma * xhat + beta, dx=r * (g - xhat * (g * xhat).mean(0)), dbeta=np.ones((2, 2)))
    return paths


def test_answer_says_what_is_right_and_which_mistake_the_rest_is(homework, capsys):
    assert run("answer", "--scheme", "batch", "--layout", "NC", *homework, "--json") == 0
    printed = capsys.readouterr()
    found = json.loads(printed.out)
    assert list(found) == ["out", "dx", "dbeta"]
    assert all(list(verdict) == ["right", "error", "mistake"] for verdict in found.values())
    assert (found["out"]["right"], found["out"]["mistake"]) == (True, None)
    assert found["out"]["error"] < 1e-13
    assert (found["dx"]["right"], found["dx"]["mistake"]) == (False, "mean-path")
    assert found["dbeta"] == {"right": False, "error": None, "mistake": "wrong-shape"}
    lines = printed.err.splitlines()
    assert [line.partition(" is wrong. ")[0] for line in lines] == ["normviz: dx", "normviz: dbeta"]
    assert MISTAKES["mean-path"].description in lines[0]


def test_answer_as_a_table(homework, capsys):
    assert run("answer", "--scheme", "batch", "--layout", "NC", *homework) == 0
    lines = [line.split()[:2] for line in capsys.readouterr().out.splitlines()]
    assert lines == [["out", "right,"], ["dx", "mean-path,"], ["dbeta", "wrong-shape"]]


def test_the_options_of_answer_reach_the_judge(homework, capsys):
    inputs = dict(np.load(homework[0]))
    del inputs["eps"]
    np.savez(homework[0], **inputs)
    x, gamma, beta, _ = inputs.values()
    parts = x.reshape(6, 2, 2)
    xhat = (parts - parts.mean(2, keepdims=True)) / np.sqrt(parts.var(2, keepdims=True) + 0.5)
    np.savez(homework[1], out=gamma * xhat.reshape(6, 4) + beta)
    options = ["--scheme", "group", "--groups", "2", "--layout", "NC", "--eps", "0.5"]
    assert run("answer", *options, *homework, "--json") == 0
    printed = capsys.readouterr()
    assert json.loads(printed.out)["out"]["right"]
    assert printed.err == ""


BAD_ANSWERS = {
    "no layout": (["--scheme", "batch"], {}, "the following arguments are required: --layout"),
    "no such layout": (["--scheme", "batch", "--layout", "CN"], {}, "'CN' is not a layout; NC, NHWC, NCHW, BTC are."),
    "another layout": (["--scheme", "batch", "--layout", "BTC"], {}, "x has 2 axes; BTC has 3."),
    "groups that do not divide": (["--scheme", "group", "--groups", "3", "--layout", "NC"], {}, "3 groups do not"),
    "two epsilons": (["--scheme", "batch", "--layout", "NC", "--eps", "0.5"], {}, "0.5 beside them"),
    "an unknown name": (["--scheme", "batch", "--layout", "NC"], {"y": np.ones(3)}, "'y' is no name in the answer"),
    "NaN": (["--scheme", "batch", "--layout", "NC"], {"out": np.full((6, 4), np.nan)}, "out holds 24 NaN"),
    "objects": (["--scheme", "batch", "--layout", "NC"], {"out": np.array([None])}, "Python objects"),
}


@pytest.mark.parametrize("case", BAD_ANSWERS)
def test_answers_that_cannot_be_judged_are_refused(case, homework, capsys):
    options, answer, message = BAD_ANSWERS[case]
    if answer:
        np.savez(homework[1], **answer)
    assert message in refused(capsys, "answer", *options, *homework)


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("content", [b"", b"1, 2, 3", None])
def test_files_that_hold_no_arrays_are_refused(content, which, homework, capsys):
    if content is None:
        homework[which].unlink()
    else:
        homework[which].write_bytes(content)
    message = refused(capsys, "answer", "--scheme", "batch", "--layout", "NC", *homework)
    assert ("cannot be read" if content is None else "not a .npz file that NumPy wrote") in message


# --- the real command -------------------------------------------------------------------------------------------


def command(*arguments):
    return subprocess.run(
        [sys.executable, "-m", "normviz", *map(str, arguments)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8"},
        timeout=60,
    )


def test_the_command_does_what_main_does(files):
    done = command("normalize", "--scheme", "group", "--groups", "3", *files)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    expected = normalize(np.load(files[0]), get_scheme("group", groups=3)).y
    np.testing.assert_array_equal(np.load(files[1]), expected)


def test_the_command_ends_with_2_and_one_line(files):
    done = command("normalize", "--scheme", "group", "--groups", "4", *files)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "normviz: 4 groups do not divide C = 6; 1, 2, 3 or 6 do.\n"
    assert not files[1].exists()


def test_the_command_lists_the_schemes():
    done = command("schemes", "--json")
    assert done.returncode == 0
    assert [record["key"] for record in json.loads(done.stdout)] == list(SCHEMES)


def test_a_disagreement_is_named_on_stderr_and_ends_with_1(capsys, monkeypatch):
    from normviz.cli import table1

    measured = table1.measure_cells

    def contradicted(*arguments):
        first, *others = measured(*arguments)
        return [dataclasses.replace(first, forward=not first.forward), *others]

    asked = ("table1", "--schemes", "batch", "--steps", "2", "--json")
    assert run(*asked) == 0
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(table1, "measure_cells", contradicted)
    assert run(*asked) == 1
    printed = capsys.readouterr()
    assert len(json.loads(printed.out)) == len(TRANSFORMATIONS)
    assert printed.err == "normviz: the answers on batch × weight-matrix-rescaling disagree.\n"


def test_serve_starts_streamlit_where_the_app_and_its_settings_lie(tmp_path, monkeypatch):
    started = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execv", lambda program, command: started.append((os.getcwd(), command)))
    assert run("serve", "--port", 8600) == 0
    [(folder, command)] = started
    assert command[1:] == ["-m", "streamlit", "run", "app.py", "--server.port", "8600"]
    assert os.path.exists(os.path.join(folder, ".streamlit", "config.toml"))


@pytest.mark.parametrize("given", ["0.0.0.0", "127.0.0.1", "localhost"])
def test_serve_listens_on_the_address_that_it_is_given(given, tmp_path, monkeypatch):
    started = []
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(os, "execv", lambda program, command: started.extend(command))
    assert run("serve", "--address", given) == 0
    assert started[-2:] == ["--server.address", given]


@pytest.mark.parametrize("given", ["", "192.0.2.1", "no such host", "a..b", "1:2"])
def test_an_address_of_another_machine_is_refused_before_anything_is_served(given, capsys, monkeypatch):
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("served"))
    assert f"{given!r} is no address of this machine" in refused(capsys, "serve", f"--address={given}")


@pytest.mark.parametrize(
    ("name", "value"),
    [("NORMVIZ_FRAME_ANCESTORS", "a; script-src *"), ("NORMVIZ_METRICS", "on"), ("NORMVIZ_DATABASE", "mysql://a/b")],
)
def test_a_variable_that_serve_cannot_use_is_refused_before_anything_is_served(name, value, capsys, monkeypatch):
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("served"))
    monkeypatch.setenv(name, value)
    assert name in refused(capsys, "serve")


@pytest.mark.parametrize("port", ["0", "-1", "65536", "99999"])
def test_a_port_that_there_cannot_be_is_refused_before_anything_is_served(port, capsys, monkeypatch):
    monkeypatch.setattr(os, "execv", lambda *_: pytest.fail("served"))
    assert f"a port is a number from 1 to 65535; this one is {port}." in refused(capsys, "serve", f"--port={port}")


def test_a_port_in_words_is_refused(capsys):
    assert "'http'" in refused(capsys, "serve", "--port", "http")


def test_a_missing_library_is_named_with_what_to_install(capsys, monkeypatch):
    monkeypatch.setattr(command_line, "find_spec", lambda name: None if name == "streamlit" else object())
    assert "streamlit; pip install 'normviz[app]'" in refused(capsys, "serve")


def test_the_version_is_the_packages(capsys):
    with pytest.raises(SystemExit, match="0"):
        run("--version")
    assert capsys.readouterr().out == f"normviz {normviz.__version__}\n"
