"""What is imported is declared, and the lock holds all that the requirements need, at the versions that they pin."""

import ast
import sys
import tomllib
from collections.abc import Iterator
from importlib.metadata import packages_distributions, requires
from pathlib import Path

import pytest
from browsing import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

PROJECT = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["project"]
OWN = {path.stem for folder in ("tests", "benchmarks") for path in Path(ROOT, folder).rglob("*.py")} | {"normviz"}
CUDA = ("nvidia-", "cuda-", "triton")


def python_files(*paths: str) -> Iterator[Path]:
    """The Python files of a checkout under some paths."""
    for path in (Path(ROOT, path) for path in paths):
        yield from path.rglob("*.py") if path.is_dir() else [path]


def imported(source: str) -> set[str]:
    """The packages that a module imports anywhere in it, also inside of a function, without those of Python."""
    names = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names.add(node.module.partition(".")[0])
    return names - sys.stdlib_module_names


def declared(*extras: str) -> set[str]:
    """The distributions that some extras of the package name, with its dependencies and with the extras in them."""
    named = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    found = [Requirement(text) for part in named for text in part]
    inner = {extra for each in found if each.name == "normviz" for extra in each.extras} - set(extras)
    own = {canonicalize_name(each.name) for each in found} - {"normviz"}
    return own | declared(*extras, *inner) if inner else own


def undeclared(names: set[str], *extras: str) -> set[str]:
    """The imported packages that no distribution of some extras provides."""
    provided = packages_distributions()
    distributions = {name: {canonicalize_name(each) for each in provided.get(name, [])} for name in names - OWN}
    return {name for name, found in distributions.items() if not found & declared(*extras)}


@pytest.mark.parametrize(
    ("paths", "extras"),
    [
        (["normviz/core", "normviz/cli/main.py", "normviz/cli/normalize.py", "normviz/__init__.py"], []),
        (["normviz/train"], ["train", "fast"]),
        (["normviz/jobs"], ["train", "cluster"]),
        (["normviz", "pages", "app.py"], ["app", "cluster"]),
        (["normviz", "pages", "app.py", "tests", "benchmarks", "docs/record.py"], ["dev"]),
    ],
)
def test_every_import_is_declared(paths, extras):
    names = set().union(*(imported(path.read_text()) for path in python_files(*paths)))
    assert undeclared(names, *extras) == set()
    assert {"numpy"} <= names


def test_an_import_that_is_not_declared_is_noticed():
    names = imported("import os.path\nfrom . import a\nfrom yaml import b\ndef f():\n    import pandas.api, torch\n")
    assert names == {"yaml", "pandas", "torch"}
    assert undeclared(names) == names
    assert undeclared(names, "train") == {"yaml", "pandas"}
    assert undeclared(names, "dev") == {"yaml"}  # is installed for another package, and not declared


def read(name: str) -> list[Requirement]:
    """The lines of a file of requirements."""
    lines = (line.partition("#")[0].strip() for line in Path(ROOT, name).read_text().splitlines())
    return [Requirement(line) for line in lines if line and not line.startswith("-r")]


def locked() -> dict[str, str]:
    """The exact versions of the lock for this platform and this Python."""
    pins = [each for each in read("requirements.lock") if each.marker is None or each.marker.evaluate()]
    assert {specifier.operator for each in pins for specifier in each.specifier} == {"=="}
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in pins}


def collect_needed(name: str, extras: frozenset[str], found: set[str]) -> None:
    """Add an installed distribution and all that it needs here to `found`, without the CUDA libraries of torch."""
    name = canonicalize_name(name)
    if name in found or name.startswith(CUDA):
        return
    found.add(name)
    for each in map(Requirement, requires(name) or []):
        if each.marker is None or any(each.marker.evaluate({"extra": extra}) for extra in extras | {""}):
            collect_needed(each.name, frozenset(each.extras), found)


def test_the_lock_holds_what_the_requirements_pin():
    pinned = [*read("requirements.txt"), *read("requirements-dev.txt")]
    versions = locked()
    assert {each.name: str(each.specifier) for each in pinned} == {
        each.name: f"=={versions[canonicalize_name(each.name)]}" for each in pinned
    }


def test_the_lock_holds_all_that_the_requirements_need_and_no_cuda_library():
    found: set[str] = set()
    for each in [*read("requirements.txt"), *read("requirements-dev.txt")]:
        collect_needed(each.name, frozenset(each.extras), found)
    assert found == set(locked())
    assert not [name for name in locked() if name.startswith(CUDA)]
