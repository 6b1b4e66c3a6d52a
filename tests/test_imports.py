"""What a module brings along when it is imported, looked at in fresh interpreters; who may import whom is linted."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

import normviz

ROOT = Path(normviz.__file__).parents[1]
HEAVY = ("torch", "plotly", "streamlit", "keras", "sklearn", "PIL", "pandas")


def modules(*folders, named="*"):
    """The modules of some folders of the package by their dotted names."""
    paths = (path for folder in folders for path in Path(ROOT, "normviz", folder).rglob(f"{named}.py"))
    return [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in sorted(paths)]


TOPICS = sorted(f"topics/{path.parent.name}" for path in Path(ROOT, "normviz", "topics").glob("*/state.py"))


def imported(names, libraries, path=ROOT):
    """Which of the libraries are there once a fresh interpreter has imported the modules."""
    return imported_by("".join(f"import {name}\n" for name in names), libraries, path)


def imported_by(script, libraries, path=ROOT):
    """Which of the libraries are there once a fresh interpreter has run the script, which prints nothing."""
    code = f"import sys; sys.path.insert(0, {str(path)!r})\n{script}\nprint(*set({libraries}) & set(sys.modules))"
    cores = os.environ | {"OMP_NUM_THREADS": "2"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, env=cores)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(
    ("names", "forbidden"),
    [
        pytest.param(modules("core", "describe", "data", "jobs"), HEAVY, id="what computes without a page"),
        pytest.param(["normviz", "normviz.__main__"], HEAVY, id="the library and its command"),
        pytest.param(modules("train"), ("plotly", "streamlit", "keras", "sklearn"), id="what trains"),
        pytest.param(
            [*modules("charts"), *modules(*TOPICS, named="*figures")],
            ("torch", "streamlit", "keras", "sklearn"),
            id="figures",
        ),
        pytest.param(modules("web", "ui", *TOPICS), ("torch", "keras", "sklearn"), id="what pages import first"),
    ],
)
def test_no_import_brings_along_what_only_others_need(names, forbidden):
    assert imported(names, forbidden) == []


COMMAND = """
from contextlib import redirect_stdout, suppress
from io import StringIO
from normviz.cli.main import main
with redirect_stdout(StringIO()), suppress(SystemExit):
    main({words})
"""


@pytest.mark.parametrize(
    ("command", "forbidden"),
    [
        ("--version", ("numpy", *HEAVY)),
        ("--help", ("numpy", *HEAVY)),
        ("unknown", ("numpy", *HEAVY)),
        ("design --need dataset-rescaling", ("scipy", *HEAVY)),
        ("table1 --steps 2", {"scipy", *HEAVY} - {"torch"}),
    ],
)
def test_a_command_imports_only_what_it_needs(command, forbidden):
    assert imported_by(COMMAND.format(words=command.split()), forbidden) == []


def test_table1_trains_on_one_core():
    script = COMMAND.format(words=["table1", "--steps", "2", "--schemes", "batch"])
    assert imported_by(script + "\nimport torch; print(torch.get_num_threads())", ()) == ["1"]


def test_a_server_starts_without_torch():
    script = "from normviz.ui.server import import_shared_modules as start\nstart()"
    assert imported_by(script, ("torch", "keras", "sklearn", "normviz.topics.table1.panels")) == [
        "normviz.topics.table1.panels"
    ]


def test_the_modules_are_found():
    assert {"normviz.core.fields", "normviz.data.samples"} <= set(modules("core", "data"))
    assert {"normviz.topics.lab.figures", "normviz.topics.weights.descent_figures"} <= set(
        modules(*TOPICS, named="*figures")
    )
    assert {"topics/lab", "topics/same", "topics/table1", "topics/claims"} <= set(TOPICS)


def test_a_module_that_imports_torch_is_caught(tmp_path):
    (tmp_path / "behind.py").write_text("from normviz.core import fields\nimport heavy\n")
    (tmp_path / "heavy.py").write_text("import torch\n")
    (tmp_path / "light.py").write_text("def later():\n    import torch\n")
    assert imported(["light"], HEAVY, tmp_path) == []
    assert imported(["light", "behind"], HEAVY, tmp_path) == ["torch"]


def test_no_two_files_of_tests_have_one_name():
    names = [path.name for path in Path(__file__).parent.rglob("test_*.py")]
    assert sorted(names) == sorted(set(names))  # pytest takes the second for the first
