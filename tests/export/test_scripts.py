"""Scripts and notebooks of pages: they run as they are, print the numbers of the page, and hold no code of a link."""

import ast
import contextlib
import io
import json
import random
import re
import subprocess
import sys
from dataclasses import replace

import nbformat
import numpy as np
import pytest
import wandering
from lab_page import ROOT

from normviz.cli.main import main
from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.scheme import Scheme
from normviz.describe.live import compute_live_numbers
from normviz.export import scheme_code
from normviz.export.notebook import build_notebook
from normviz.export.pages import SCRIPT_MODULES, format_page_script, read_page_view
from normviz.export.panels import SCRIPT_NAMES
from normviz.export.project import REPOSITORY_URL, format_citation
from normviz.export.scheme_code import format_scheme_code
from normviz.export.script import split_cells
from normviz.topics.design.search import find_schemes
from normviz.topics.design.state import read_demands
from normviz.topics.experiments import state as experiments
from normviz.topics.geometry.three_channels import take_step
from normviz.topics.gradients.chain import compute_chain_values
from normviz.topics.gradients.small import compare_gradients, make_small_tensors
from normviz.topics.gradients.state import get_page_eps, get_page_scheme, get_tensor_shape, parse_numbers
from normviz.topics.lab.state import get_layer_scalars
from normviz.topics.same.identities import IDENTITIES, evaluate_sides
from normviz.topics.table1 import state as table1
from normviz.topics.table1.table import measure_cells
from normviz.train.setting import Setting
from normviz.ui.page_texts import PAGE_TEXTS
from normviz.ui.scheme import build_scheme, build_schemes, get_effective_eps
from normviz.ui.tensor import make_tensor

PANELS = {
    "why": ("show", ("learning", "saturation", "whitening", "outside", "identity", "history")),
    "gradients": ("show", ("graph", "formula", "jacobian", "answer")),
    "geometry": ("show", ("vectors", "rate")),
    "running": ("panel", ("switch", "wrong", "companions")),
    "identities": ("panel", ("same", "variants", "own", "detect")),
    "weights": ("show", ("norm", "spectral")),
    "invariance": ("panel", ("changed", "eps", "training", "delta")),
}
STATES = [
    (page, {name: panel} if panel else {})
    for page in SCRIPT_MODULES
    for name, panels in [PANELS.get(page, ("", ("",)))]
    for panel in panels
]
"""Every panel of every page."""

ROOTS = {"normviz", "numpy", "sys", "torch"}
"""What a script imports."""


def find_view(page, link):
    """The values of a page's link, as the page itself finds them."""
    return read_page_view(f"/{page if page != 'tensor_lab' else ''}?{encode(link)}")[1]


def encode(link):
    from urllib.parse import urlencode

    return urlencode([(name, each) for name, each in link.items()], doseq=True)


def run(text):
    """What a script prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(text, "script", "exec"), {"__name__": "__main__"})
    return out.getvalue()


def find_numbers(text):
    """The numbers in a text, also as pages set them: −1.5, 2.1·10⁻⁷."""
    raised = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    plain = re.sub(r"·10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"e{found[1].translate(raised)}", text)
    plain = re.sub(r"10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)", lambda found: f"1e{found[1].translate(raised)}", plain)
    return re.findall(r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?", plain.replace("−", "-").replace(",", ""))


def prints(text, *numbers, digits=4):
    """Whether a text holds all these numbers, each to some significant digits."""
    printed = {f"{float(each):.{digits}g}" for each in find_numbers(text)}
    return [number for number in numbers if f"{float(number) + 0.0:.{digits}g}" not in printed] == []


def test_every_page_with_numbers_has_a_script():
    assert {*SCRIPT_MODULES} == {text.page for text in PAGE_TEXTS if text.section != "Teach"}
    for page, state in wandering.STATES.items():
        name = getattr(state, "PAGE", "lab")
        assert SCRIPT_NAMES.get(name, name) == page


@pytest.mark.parametrize("page", SCRIPT_MODULES)
def test_a_link_of_a_stranger_becomes_no_code(page):
    rng = random.Random(page)
    written = 0
    for _ in range(25):
        link = wandering.link_of(page, rng)
        try:
            text = format_page_script(page, find_view(page, link))
        except InvalidInput:  # the page itself shows the reason
            continue
        written += 1
        tree = ast.parse(text)
        imported = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        imported |= {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
        assert {each.partition(".")[0] for each in imported} <= ROOTS
        assert "alert(1)" not in text
        assert "\u202e" not in text
        assert len(text) < 20_000
    assert written > 2


@pytest.mark.parametrize(("page", "link"), STATES)
def test_a_notebook_is_its_script_in_cells(page, link):
    text = format_page_script(page, find_view(page, link))
    notebook = nbformat.reads(build_notebook(text), as_version=4)
    nbformat.validate(notebook)
    code = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    assert ast.dump(ast.parse("\n".join(code))) == ast.dump(ast.parse(text))
    assert [cell.source for cell in notebook.cells] == [cell.source for cell in split_cells(text)]
    assert not any(line.strip() for cell in notebook.cells for line in [cell.source] if not line.strip())
    assert notebook.cells[0].source.startswith("# ")
    assert max(map(len, text.splitlines())) < 140


def print_in_a_process(script):
    """What all these scripts print in one process without the libraries of the app, one after the other."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False)


HIDE = """
import sys

class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in {!r}:
            raise ModuleNotFoundError(name)

sys.meta_path.insert(0, Hidden())
"""
"""The beginning of a program for which some libraries are not installed."""

SLOW = ("saturation", "wrong")
CHEAP = [each for each in STATES if each[0] not in ("invariance", "model") and not {*SLOW} & {*each[1].values()}]
"""The states whose scripts run in less than a second."""


def test_scripts_need_no_more_than_they_install():
    texts = {f"{page} {link}": format_page_script(page, find_view(page, link)) for page, link in CHEAP}
    bare = [text for text in texts.values() if "normviz @" in text]
    trained = [text for text in texts.values() if "train" in text.partition("@")[0]]
    assert len(bare) > 5
    for some, missing in (
        (bare, ["streamlit", "jinja2", "plotly", "torch", "sklearn", "PIL"]),
        (trained, ["streamlit", "jinja2", "plotly"]),
    ):
        hidden = HIDE.format(missing)
        loop = f"{hidden}\nfor text in {some!r}: exec(compile(text, text[:60], 'exec'), {{}})"
        found = print_in_a_process(loop)
        assert found.returncode == 0, found.stderr[-1500:]


@pytest.mark.parametrize("key", SCHEMES)
def test_the_code_of_a_scheme_makes_the_scheme(key):
    import normviz

    for scheme in (get_scheme(key), SCHEMES["custom"].with_weight_scheme("spectral")):
        made = eval(format_scheme_code(scheme), {"normviz": normviz})
        assert isinstance(made, Scheme)
        assert (made.key, made.fields, made.weight, made.alpha, made.eps) == (
            scheme.key, scheme.fields, scheme.weight, scheme.alpha, scheme.eps
        )  # fmt: skip


# --- the numbers ------------------------------------------------------------------------------------------------


def find_lab_numbers(view):
    scheme, x, layer = build_scheme(view), make_tensor(view), get_layer_scalars(view, build_scheme(view))
    result, focus = normalize(x, scheme, *layer[:3]), view["focus"]
    statistics = [x[focus], result.y[focus], *([] if result.mean is None else [x[focus] - result.v[focus]])]
    return statistics if scheme.has_xhat else statistics[:1]


def find_compared_numbers(view):
    x = make_tensor(view)
    return [normalize(x, each, get_effective_eps(view, each)).xhat[view["focus"]] for each in build_schemes(view)]


def find_pair_numbers(view):
    identity = IDENTITIES[view["row"]]
    shape = identity.condition.mend(tuple(view[name] for name in "nhwc"))
    x = make_tensor(view | dict(zip("nhwc", shape, strict=True)))
    left, right = evaluate_sides(identity, x, view["eps"])
    where = np.unravel_index(np.argmax(np.abs(left - right)), left.shape)
    return [left[where], right[where]]


def find_chain_numbers(view):
    one = compute_chain_values(
        *(np.array(parse_numbers(view[name])) for name in ("x", "dy")), view["eps"], view["centred"]
    )
    return [one.mean, one.variance, one.root, *one.xhat, one.droot, one.dvariance, *one.dx]


def find_formula_numbers(view):
    scheme = get_page_scheme(view)
    found = compare_gradients(
        scheme, make_small_tensors(scheme, get_tensor_shape(view), view["seed"]), get_page_eps(view)
    )
    return [np.abs(found.formula.dxhat).max(), np.abs(found.formula.dx).max(), found.formula.dxhat.sum()]


def find_vector_numbers(view):
    x = np.array([view[name] for name in ("x1", "x2", "x3")])
    steps = [take_step(times * x, view["eps"]) for times in (1.0, 0.5)]
    return [steps[0].before.mean, *steps[0].before.xhat, *(each.angle for each in steps)]


NUMBERS = {
    "tensor_lab": ({}, find_lab_numbers),
    "compare": ({}, find_compared_numbers),
    "identities": ({"panel": "same"}, find_pair_numbers),
    "gradients": ({"show": "graph"}, find_chain_numbers),
    "gradients formula": ({"show": "formula"}, find_formula_numbers),
    "geometry": ({"show": "vectors"}, find_vector_numbers),
    "design": ({}, lambda view: [len(find_schemes(read_demands(view)))]),
}
"""What a page shows, from the functions that it calls: its link, and the numbers of its values."""


@pytest.mark.parametrize("name", NUMBERS)
def test_random_states_print_the_numbers_of_the_page(name, monkeypatch):
    monkeypatch.setattr("normviz.library.pictures.build_plot_message", lambda *args, **named: {"title": ""})
    page, (fixed, expect) = name.partition(" ")[0], NUMBERS[name]
    rng, tried = random.Random(name), 0
    for k in range(12):
        link = {} if k == 0 else wandering.link_of(page, rng)
        link = {each: text for each, text in link.items() if each not in "nhwc"} | fixed
        try:
            view = find_view(page, link)
            text = format_page_script(page, view)
        except InvalidInput:
            continue
        with np.errstate(all="ignore"):
            assert prints(run(text), *(each for each in expect(view) if abs(each) > 1e-9)), link
        tried += 1
    assert tried >= 6


@pytest.mark.parametrize("key", SCHEMES)
def test_the_lab_prints_the_numbers_of_every_scheme(key, monkeypatch):
    monkeypatch.setattr("normviz.library.pictures.build_plot_message", lambda *args, **named: {"title": ""})
    view = find_view("tensor_lab", {"scheme": key, "gain": "2", "focus": "1,2,3,4"})
    printed = run(format_page_script("tensor_lab", view))
    numbers = compute_live_numbers(
        build_scheme(view), make_tensor(view), normalize(make_tensor(view), build_scheme(view), *read_layer(view)[:3]),
        read_layer(view),
    )  # fmt: skip
    shown = [number for name in ("x", "mean", "v", "divides", "xhat", "y", "z") if name in numbers
             for number in [numbers[name]] if key != "whitening" or name != "divides"]  # fmt: skip
    for values, shape in shown:
        index = tuple(i * count // n for i, count, n in zip(view["focus"], shape, (4, 4, 4, 6), strict=True))
        assert prints(printed, np.reshape(values, shape)[index])


def read_layer(view):
    return get_layer_scalars(view, build_scheme(view))


@pytest.mark.parametrize(
    ("page", "build"),
    [
        ("experiments", experiments.build_shown_setting),
        ("invariance", table1.build_table_setting),
    ],
)
def test_the_settings_of_long_trainings_are_those_of_the_page(page, build):
    rng, tried = random.Random(page), 0
    for _ in range(20):
        view = find_view(page, wandering.link_of(page, rng))
        try:
            expected, text = replace(build(view), device="auto"), format_page_script(page, view)
        except InvalidInput:
            continue
        names = {}
        head = [cell.source for cell in split_cells(text) if not cell.is_text][:2]
        with contextlib.redirect_stdout(io.StringIO()):
            exec("\n".join(head), names)
        assert names["setting"] == expected
        schemes = build_schemes(view) if page == "invariance" else ()
        assert [each.fields for each in names.get("schemes", ())] == [each.fields for each in schemes]
        tried += 1
    assert tried > 5


def test_table_1_prints_the_cells_and_the_open_case():
    link = {"schemes": "batch,group", "groups": "4", "steps": "5", "cell": "group.case-rescaling", "follow": "0"}
    view = find_view("invariance", link)
    printed = run(format_page_script("invariance", view))
    for cell in measure_cells(build_schemes(view), Setting(delta=10.0, shift=2.0, batch=16, steps=5)):
        said = next(
            line for line in printed.splitlines() if line.startswith(f"{cell.row_name}, {cell.transformation}:")
        )
        assert f"forward {cell.forward_gap:.2g}" in said
        assert f"at equal rates {cell.training_gap_equal_lr:.2g}" in said
    assert re.search(r"network: [\d.]+, twin: [\d.]+", printed)


SHOWN = {
    "why": {"show": "learning"},
    "why whitening": {"show": "whitening", "stage": "zca"},
    "running": {"step": "100", "unit": "2", "layer": "conv"},
    "geometry": {"show": "rate", "steps": "50"},
    "weights": {"step": "200", "rate": "0.3"},
    "divisive": {"eps": "0.01"},
    "experiments": {},
    "why outside": {"show": "outside", "steps": "20"},
}
"""Links whose headline holds numbers."""


@pytest.mark.parametrize("name", SHOWN)
def test_the_headline_of_the_page_is_among_what_the_script_prints(name):
    page, link = name.partition(" ")[0], SHOWN[name]
    at, faults = wandering.opened(page, link)
    assert not faults.fault
    headings = [text.value for text in at.markdown if text.value.startswith("### ")]
    headings += [html.proto.body for html in at.get("html") if "nv-pairs" in html.proto.body]
    printed = run(format_page_script(page, find_view(page, link)))
    shown = find_numbers(re.sub(r"0 to rounding", "", headings[0]))
    assert shown
    found = {float(each) for each in find_numbers(printed)}
    for number in shown:
        digits = len(number.partition(".")[2])
        assert any(f"{each:.{digits}f}" == number or each == float(number) for each in found), (number, headings[0])


def test_the_visitors_own_tensor_is_read_from_its_file(tmp_path, monkeypatch):
    monkeypatch.setattr(scheme_code, "has_own_tensor", lambda view: True)
    monkeypatch.chdir(tmp_path)
    x = np.arange(48.0).reshape(2, 2, 2, 6) ** 2
    np.save("tensor.npy", x)
    view = find_view("compare", {"n": "2", "h": "2", "w": "2", "c": "6", "data": "own", "focus": "1,0,1,2"})
    assert prints(
        run(format_page_script("compare", view)), x[1, 0, 1, 2], normalize(x, SCHEMES["batch"]).xhat[1, 0, 1, 2]
    )


# --- the dialog and the command -----------------------------------------------------------------------------------


def test_the_citation_is_that_of_the_documentation():
    said = re.fullmatch(r"(.*) \((\d+)\)\. (.*), version (.*)\. (http.*)", format_citation())
    entry = (ROOT / "docs/citing.md").read_text()
    assert re.findall(r"= \{+(.*?)\}+,\n", entry) == [said[3], said[1], said[4], said[2], said[5]]
    assert f'Source = "{REPOSITORY_URL}"' in (ROOT / "pyproject.toml").read_text()


def test_the_app_has_the_section():
    assert "\nSECTIONS[SECTION_TITLE] = draw_take_home_section\n" in (ROOT / "app.py").read_text()


def test_the_command_writes_both_files(tmp_path, capsys):
    link = "/?scheme=group&groups=3"
    assert main(["export", "/readings?data=own&try=blog", str(tmp_path / "former.py")]) == 0
    assert "EXAMPLES" in (tmp_path / "former.py").read_text()
    for suffix in (".py", ".ipynb"):
        assert main(["export", link, str(tmp_path / f"out{suffix}")]) == 0
    text = (tmp_path / "out.py").read_text()
    assert 'get_scheme("group", groups=3)' in text
    assert json.loads((tmp_path / "out.ipynb").read_text()) == json.loads(build_notebook(text))
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "")


@pytest.mark.parametrize(
    ("link", "name", "words"),
    [
        ("/", "out.txt", ".py or .ipynb would do"),
        ("/lessons", "out.py", "no link to a page with numbers"),
        ("http://[", "out.py", "no link to a page with numbers"),
        ("/compare?schemes=batch", "out.py", "2 to 6 fit"),
    ],
)
def test_the_command_refuses_what_is_no_page_and_no_file(tmp_path, capsys, link, name, words):
    assert main(["export", link, str(tmp_path / name)]) == 2
    printed = capsys.readouterr()
    assert words in printed.err
    assert printed.err.count("\n") == 1
    assert not any(tmp_path.iterdir())
