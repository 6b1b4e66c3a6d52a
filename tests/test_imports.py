"""The direction of imports: what a module may bring along, looked at in a fresh interpreter."""

import subprocess
import sys
from pathlib import Path

import pytest

import normviz

PACKAGE = Path(normviz.__file__).parent
HEAVY = ("torch", "plotly", "streamlit", "keras", "sklearn")
DRAWS, SHOWS = ("torch", "streamlit"), ("torch",)
FOLDERS = {"cube": DRAWS, "ui": SHOWS}
MODULES = dict.fromkeys(("figures", "descent_figures"), DRAWS)
MODULES |= dict.fromkeys(("state", "controls", "panels", "picture", "player", "grid", "training"), SHOWS)
"""What the modules of a folder, and those of a name, must not import; all others, none of the heavy ones."""
TRAINING = {"gradient": ("streamlit", "plotly"), "stack": ("streamlit", "plotly"), "twins": ("streamlit", "plotly")}
"""The modules that train, and so import torch: predictions and forward measurements do without."""


def modules():
    """Every module of the package by its dotted name, with the libraries that it must leave alone."""
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(PACKAGE).with_suffix("").parts
        name = ".".join(("normviz", *parts)).removesuffix(".__init__")
        trains = TRAINING.get(parts[-1]) if parts[0] == "networks" else None
        forbidden = trains or FOLDERS.get(parts[0]) or MODULES.get(parts[-1], HEAVY)
        yield pytest.param(name, forbidden, id=name)


def imported(name, libraries, path=PACKAGE.parent):
    """Which of the libraries are there once a fresh interpreter has imported the module."""
    code = f"import sys; sys.path.insert(0, {str(path)!r}); import {name}; print(*set({libraries}) & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return done.stdout.split()


@pytest.mark.parametrize(("name", "forbidden"), modules())
def test_a_module_imports_nothing_heavy(name, forbidden):
    assert imported(name, forbidden) == []


def test_the_modules_are_found():
    names = {param.id for param in modules()}
    some = ("core.fields", "core.normalize", "data.samples", "lab.panels", "table1.figures", "__main__")
    assert {"normviz", *(f"normviz.{name}" for name in some)} <= names


def test_a_module_that_imports_torch_is_caught(tmp_path):
    (tmp_path / "heavy.py").write_text("from normviz.core import fields\nimport torch\n")
    (tmp_path / "behind.py").write_text("import heavy\n")
    (tmp_path / "light.py").write_text("def later():\n    import torch\n")
    assert imported("heavy", HEAVY, tmp_path) == ["torch"]
    assert imported("behind", HEAVY, tmp_path) == ["torch"]
    assert imported("light", HEAVY, tmp_path) == []
