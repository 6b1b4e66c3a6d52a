"""The scripts of Table 1's cells: run as they are, they give the engine's losses, gaps and verdicts."""

import ast
import re
import subprocess
import sys
from contextlib import redirect_stdout
from dataclasses import replace
from functools import cache
from io import StringIO
from itertools import product

import numpy as np
import pytest
import sklearn.datasets
import torch
from pairs import each_value, pairwise

from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.transformations import OPTIMIZERS, TRANSFORMATIONS
from normviz.topics.table1.panels import SCRIPT_NOTE
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.script import SCRIPT_LINE_LENGTH, format_cell_script
from normviz.topics.table1.table import build_cells, compute_loss_gaps, measure_cells
from normviz.train.problem import ORIGINAL, PROBE, find_control_networks, find_network_index
from normviz.train.setting import HALF_DTYPES, Setting

SMALL = {
    "dense": Setting(steps=5, batch=8, width=6, device="cpu"),
    "conv": Setting(layer="conv", steps=5, batch=4, width=4, device="cpu"),
}
RESCALED = [key for key, change in TRANSFORMATIONS.items() if change.weight_factor is not None]
FIELDS = {
    "a pair": ("own, full, full, full", "full, own, own, groups(2)"),
    "only centred": ("full, full, full, own", None),
    "only divided": (None, "groups(2), full, own, window(1)"),
    "windows on all axes": ("window(1), window(1), window(2), window(1)",) * 2,
    "groups and windows": ("groups(2), full, window(1), groups(2)", "groups(2), own, window(1), window(2)"),
    "single elements": ("own, own, own, own",) * 2,
}


@pytest.fixture(autouse=True)
def digits_read_once(monkeypatch):
    monkeypatch.setattr(sklearn.datasets, "load_digits", cache(sklearn.datasets.load_digits))


def run(code):
    """The script's names and what it prints."""
    names, printed = {"__name__": "__main__"}, StringIO()
    with redirect_stdout(printed):
        exec(compile(code, "script.py", "exec"), names)
    return names, printed.getvalue()


def verdict(printed):
    """What the script says: invariant, not invariant, or None where it cannot tell."""
    untold = "may or may not be|is degenerate here, and cannot be called|is unchanged, as δ = 1, and cannot be called"
    (answer,) = re.findall(rf" (is|is not|{untold}) invariant to ", printed)
    return {"is": True, "is not": False}.get(answer)


def sane(code):
    """Whether it is a script that stands alone, without anything that it does not use."""
    assert "normviz" not in code
    assert max(map(len, code.splitlines())) <= SCRIPT_LINE_LENGTH
    tree = ast.parse(code)
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound = {alias.asname or alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names}
    bound |= {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    bound |= {
        name.id
        for node in tree.body
        if isinstance(node, ast.Assign)
        for name in ast.walk(node.targets[0])
        if isinstance(name, ast.Name)
    }
    assert bound - used <= {"_"}, bound - used


def compare(scheme, setting, changes=TRANSFORMATIONS, follow=True, rel=1e-9):
    """Every cell's script against the engine; `rel`: of the losses, None where they may drift apart."""
    results = TableResultCache()
    results.compute_missing([scheme], setting)
    losses = results.get_losses(scheme, setting)
    cells = {cell.transformation: cell for cell in build_cells([scheme], setting, results, follow)}
    for key in changes:
        change, cell = TRANSFORMATIONS[key], cells[key]
        code = format_cell_script(scheme, change, setting, follow)
        sane(code)
        names, printed = run(code)
        assert verdict(printed) == (None if cell.degenerate else cell.invariant), (key, printed, cell)
        if rel is not None:
            assert names["trained"] == {True: "together", False: "apart", None: "no answer"}[cell.trained], key
            assert names["losses"].numpy() == pytest.approx(losses[:, ORIGINAL], rel=rel), key
            assert names["twin"][1].numpy() == pytest.approx(losses[:, find_network_index(change, follow)], rel=rel), (
                key
            )
            assert names["forward"] == pytest.approx(cell.forward_gap, rel=1e-6, abs=1e-9), key


@pytest.mark.parametrize(("key", "layer"), each_value(SCHEMES, SMALL))
def test_every_cell_of_every_scheme(key, layer):
    compare(get_scheme(key), SMALL[layer])


@pytest.mark.parametrize(("name", "layer"), each_value(FIELDS, SMALL))
def test_fields_of_ones_own(name, layer):
    fields = (None if text is None else Field.parse(text) for text in FIELDS[name])
    compare(SCHEMES["custom"].with_fields(*fields), SMALL[layer])


@pytest.mark.parametrize(("front", "layer"), each_value(["weight", "weight-standardization", "spectral"], SMALL))
def test_fields_of_ones_own_behind_a_scheme_of_the_weights(front, layer):
    for a, b in ((Field.parse("full, own, full, groups(2)"),) * 2, (None, None)):
        compare(SCHEMES["custom"].with_fields(a, b).with_weight_scheme(front), SMALL[layer])


def test_groups_of_rows():
    fields = (Field.parse("groups(2), groups(2), window(1), full"), Field.parse("own, groups(3), groups(2), own"))
    compare(SCHEMES["custom"].with_fields(*fields), SMALL["conv"])


@pytest.mark.parametrize(
    ("key", "depth", "layer"),
    pairwise(["batch", "whitening", "group", "divisive", "layer-weight", "spectral"], [2, 4], SMALL),
)
def test_deeper_networks(key, depth, layer):
    changes = ("weight-vector-rescaling", "weight-matrix-recentering", "case-rescaling")
    compare(get_scheme(key), replace(SMALL[layer], depth=depth, steps=3), changes, rel=1e-7)


@pytest.mark.parametrize(
    ("key", "optimizer", "follow"), pairwise(["batch", "weight", "layer", "rms"], OPTIMIZERS, [True, False])
)
def test_optimizers_and_learning_rates_that_follow_or_not(key, optimizer, follow):
    setting = replace(SMALL["dense"], optimizer=optimizer, rate=None, steps=8)
    compare(get_scheme(key), setting, RESCALED, follow, rel=1e-6 if optimizer == "adam" else 1e-9)


@pytest.mark.parametrize("optimizer", ["momentum", "adam"])
def test_deep_convolutions_with_memory(optimizer):
    setting = replace(SMALL["conv"], optimizer=optimizer, rate=None, depth=2)
    compare(get_scheme("batch"), setting, rel=1e-6)


def test_adam_does_not_take_rounding_for_a_gradient():
    # Pixels that are always empty are a constant once γ is added, and batch norm takes that off.
    setting = replace(SMALL["dense"], optimizer="adam", rate=None, depth=2, steps=15)
    compare(get_scheme("batch"), setting, ["dataset-recentering"], rel=1e-6)


@pytest.mark.parametrize("groups", [1, 2, 4])
def test_groups_that_are_whitened(groups):
    compare(get_scheme("whitening", groups=groups), replace(SMALL["conv"], width=4))


@pytest.mark.parametrize("key", ["batch", "whitening", "layer", "divisive", "layer-weight"])
def test_epsilon(key):
    compare(get_scheme(key), replace(SMALL["conv"], eps=1e-2))


@pytest.mark.parametrize(
    ("key", "layer", "depth", "dtype"),
    pairwise(
        ["none", "batch", "whitening", "divisive", "layer-weight", "spectral"], SMALL, [1, 2], ["float32", *HALF_DTYPES]
    ),
)
def test_shorter_types(key, layer, depth, dtype):
    compare(get_scheme(key), replace(SMALL[layer], dtype=dtype, depth=depth), rel=None)


@pytest.mark.parametrize("change", ["weight-matrix-recentering", "dataset-rescaling"])
@pytest.mark.parametrize("dtype", HALF_DTYPES)
def test_the_control_is_the_engines_where_its_rounding_shows(dtype, change):
    scheme, setting = SCHEMES["weight"], replace(SMALL["dense"], dtype=dtype, depth=2)
    results = TableResultCache()
    results.compute_missing([scheme], setting)
    names, _ = run(format_cell_script(scheme, TRANSFORMATIONS[change], setting))
    gaps = compute_loss_gaps(results.get_losses(scheme, setting)).max(0)
    for name, disturbed in (("near", "rounding"), ("far", "magnified")):
        assert names[name][1] == pytest.approx(gaps[find_control_networks(change, disturbed)].max(), rel=0.05)
    assert names["probe"][1] == pytest.approx(gaps[PROBE], rel=0.05)


@pytest.mark.parametrize("seed", [1, 9999])
def test_other_numbers(seed):
    setting = replace(SMALL["dense"], seed=seed, delta=0.1, rate=1e-3, batch=256, width=5, steps=15)
    compare(get_scheme("layer"), setting)


@pytest.mark.parametrize("key", ["layer", *(pytest.param(key, marks=pytest.mark.heavy) for key in ("batch", "weight"))])
def test_a_row_of_the_paper_as_the_app_shows_it_first(key):
    compare(get_scheme(key), Setting(device="cpu"), rel=1e-6)


@pytest.mark.parametrize(("key", "rate", "steps"), [("none", 1e9, 20), ("weight", 1e9, 20), ("batch", 100.0, 8)])
def test_a_run_that_diverges_has_no_answer(key, rate, steps):
    setting = replace(SMALL["dense"], rate=rate, steps=steps)
    scheme, change, results = get_scheme(key), TRANSFORMATIONS["weight-matrix-recentering"], TableResultCache()
    results.compute_missing([scheme], setting)
    cell = next(cell for cell in build_cells([scheme], setting, results) if cell.transformation == change.key)
    names, printed = run(format_cell_script(scheme, change, setting))
    assert cell.trained is None
    assert names["trained"] == "no answer"
    assert verdict(printed) == cell.invariant


@pytest.mark.heavy
def test_a_fresh_interpreter_runs_it(tmp_path):
    """Two scripts, one after the other, since importing torch and scikit-learn is what takes long."""
    cells = {
        "batch": ("weight-matrix-rescaling", Setting(steps=20, device="cpu")),
        "divisive": ("dataset-recentering", Setting(layer="conv", depth=2, steps=5, optimizer="adam", device="cpu")),
    }
    for key, (change, setting) in cells.items():
        code = format_cell_script(get_scheme(key), TRANSFORMATIONS[change], setting)
        (tmp_path / f"{key}.py").write_text(code, encoding="utf-8")
    run_each = "import runpy, sys\nfor file in sys.argv[1:]:\n    runpy.run_path(file, run_name='__main__')"
    command = [sys.executable, "-I", "-c", run_each, *(f"{key}.py" for key in cells)]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    lines = done.stdout.splitlines(keepends=True)
    assert len(lines) == 3 * len(cells)
    for (key, (change, setting)), printed in zip(cells.items(), ("".join(lines[:3]), "".join(lines[3:])), strict=True):
        assert re.match(r"forward gap   \d\.\de[+-]\d\d   (together|apart)\ntraining gap  ", printed)
        results = TableResultCache()
        results.compute_missing([get_scheme(key)], setting)
        cell = next(c for c in build_cells([get_scheme(key)], setting, results) if c.transformation == change)
        assert verdict(printed) == cell.invariant


CLEAN = {
    Setting(): True,
    Setting(depth=3, optimizer="adam", dtype="float16", eps=1e-2): False,
    Setting(layer="conv", optimizer="momentum", dtype="bfloat16"): False,
    Setting(layer="conv", depth=4, optimizer="adam", eps=1e-5, batch=8, width=12): True,
}
"""Settings in which everything in the template occurs, and whether learning rates follow."""


def test_ruff_likes_every_script(tmp_path):
    fields = ([text and Field.parse(text) for text in texts] for texts in FIELDS.values())
    own = [SCHEMES["custom"].with_fields(*both) for both in fields]
    schemes = [
        *SCHEMES.values(),
        *own,
        own[0].with_weight_scheme("spectral"),
        own[-1].with_weight_scheme("weight-standardization"),
    ]
    for number, (scheme, change, setting) in enumerate(product(schemes, TRANSFORMATIONS.values(), CLEAN)):
        code = format_cell_script(scheme, change, setting, CLEAN[setting])
        (tmp_path / f"{number}.py").write_text(code, encoding="utf-8")
    for check in (["check", "--select", "E,F,W,I"], ["format", "--check"]):
        options = ["--isolated", "--no-cache", "--line-length", str(SCRIPT_LINE_LENGTH), tmp_path]
        ruff = subprocess.run([sys.executable, "-m", "ruff", *check, *options], capture_output=True, text=True)
        assert ruff.returncode == 0, ruff.stdout + ruff.stderr


def test_it_is_short_enough_to_show():
    code = format_cell_script(SCHEMES["batch"], TRANSFORMATIONS["weight-matrix-rescaling"], Setting())
    assert len(code.splitlines()) <= 120  # a third of them train the copies that say what can be told
    assert "lr *= delta**2  # " in code
    assert "lr *=" not in format_cell_script(SCHEMES["batch"], TRANSFORMATIONS["dataset-rescaling"], Setting())


def test_fields_that_do_not_fit_are_refused():
    with pytest.raises(InvalidInput, match="groups"):
        format_cell_script(get_scheme("group", groups=5), TRANSFORMATIONS["dataset-rescaling"], Setting())


def test_a_script_that_computes_something_else_is_caught():
    """The comparison sees a changed average, seed or first bias."""
    scheme, setting = SCHEMES["batch"], SMALL["dense"]
    code = format_cell_script(scheme, TRANSFORMATIONS["dataset-rescaling"], setting)
    results = TableResultCache()
    results.compute_missing([scheme], setting)
    losses = results.get_losses(scheme, setting)[:, ORIGINAL]
    for before, after in (("a.mean(0", "a.mean(1"), ("[seed, 2]", "[seed, 3]"), ("0.1)", "0.1001)")):
        assert code.count(before) == 1
        names, _ = run(code.replace(before, after))
        assert not np.allclose(names["losses"].numpy(), losses, rtol=1e-9), before
    assert torch.get_default_dtype() == torch.float32  # a script leaves the process as it was


def test_where_the_page_also_asks_float64_only_one_of_the_two_may_answer():
    """Adam moves one weight whose gradient is rounding: the script's twins part, and the page gives no answer."""
    setting = Setting(
        delta=111.89129010911662, dtype="float16", optimizer="adam", steps=19, batch=4, width=16, depth=2, seed=1221,
        device="cpu",
    )  # fmt: skip
    scheme, change = get_scheme("divisive", radius=3), TRANSFORMATIONS["dataset-rescaling"]
    cell = next(cell for cell in measure_cells([scheme], setting) if cell.transformation == change.key)
    answers = {cell.invariant, verdict(run(format_cell_script(scheme, change, setting))[1])}
    assert answers != {True, False}
    assert None in answers
    assert "unless it or the page gives no answer" in SCRIPT_NOTE
