"""What is installed where: extras and pins agree, and the wheel computes and serves the app far from the checkout."""

import os
import re
import subprocess
import sys
import sysconfig
import tomllib
import venv
import zipfile
from pathlib import Path

import numpy as np
import pytest
from browsing import ROOT, serving
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from visitors import PAGES, all_at_once

import normviz

PROJECT = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["project"]


def pins(name):
    """The packages of a requirements file with their versions."""
    lines = (line.partition("#")[0].strip() for line in Path(ROOT, name).read_text().splitlines())
    found = [Requirement(line) for line in lines if line and not line.startswith("-r")]
    assert all(re.fullmatch(r"==[\w.]+", str(each.specifier)) for each in found), name
    return {canonicalize_name(each.name): str(each.specifier).removeprefix("==") for each in found}


def needs(*extras):
    """What the package and some of its extras ask for, without itself."""
    listed = [PROJECT["dependencies"], *(PROJECT["optional-dependencies"][extra] for extra in extras)]
    asked = [Requirement(text) for part in listed for text in part]
    return {canonicalize_name(each.name): each.specifier for each in asked if each.name != "normviz"}


@pytest.mark.parametrize(
    ("extras", "files"),
    [
        (("train", "fast", "show", "app"), ["requirements.txt"]),
        (
            ("train", "fast", "show", "app", "cluster", "postgres", "bench", "dev"),
            ["requirements.txt", "requirements-dev.txt"],
        ),
    ],
)
def test_the_pins_are_what_the_package_asks_for(extras, files):
    pinned = {name: version for file in files for name, version in pins(file).items()}
    asked = needs(*extras)
    assert set(pinned) == set(asked)
    assert [name for name, version in pinned.items() if not asked[name].contains(version)] == []


def test_the_pins_of_the_site_are_what_its_extra_asks_for():
    pinned, asked = pins("requirements-docs.txt"), needs("docs")
    assert set(pinned) == set(asked) - set(needs())
    assert [name for name, version in pinned.items() if not asked[name].contains(version)] == []


def test_the_core_asks_for_two_packages():
    assert set(needs()) == {"numpy", "array-api-compat"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The package as it would be uploaded."""
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT]
    subprocess.run(command, check=True, capture_output=True, timeout=120)
    [found] = out.glob("*.whl")
    return found


def test_the_wheel_holds_the_package_and_what_is_served_and_nothing_else(wheel):
    with zipfile.ZipFile(wheel) as archive:
        held = {name for name in archive.namelist() if ".dist-info/" not in name}
    package = {path.relative_to(ROOT) for path in Path(ROOT, "normviz").rglob("*") if path.is_file()}
    served = {"app.py", ".streamlit/config.toml", *(f"pages/{path.name}" for path in Path(ROOT, "pages").glob("*.py"))}
    expected = {str(path) for path in package if path.parent.name != "__pycache__"}
    assert held == expected | {f"normviz/app/{name}" for name in served}


def environment(folder):
    """An empty virtual environment's interpreter."""
    venv.create(folder, with_pip=False, symlinks=True)
    return folder / "bin" / "python"


def install(python, *what):
    """Install into an environment by this one's pip."""
    command = [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*command, *what], check=True, capture_output=True, timeout=300)


@pytest.fixture(scope="module")
def core(wheel, tmp_path_factory):
    """The command of an environment that has the wheel and what the core needs, and nothing else."""
    python = environment(tmp_path_factory.mktemp("core") / "env")
    install(python, wheel)
    return python.with_name("normviz")


def run(command, folder, *arguments):
    """A command in a folder, without this environment's variables."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    return subprocess.run([command, *arguments], cwd=folder, env=clean, capture_output=True, text=True, timeout=60)


@pytest.mark.heavy
def test_five_lines_of_the_readme_in_an_empty_environment(core, tmp_path):
    readme = Path(ROOT, "README.md").read_text()
    [code] = re.findall(r"```python\n(import normviz.*?)```", readme, re.DOTALL)
    (tmp_path / "lines.py").write_text(code + "print(*sorted(result._fields), result.y.shape)\n")
    done = run(core.with_name("python"), tmp_path, "lines.py")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("deviation mean v xhat y (8, 6, 32, 32)")


@pytest.mark.heavy
def test_the_commands_of_the_core_in_an_empty_environment(core, tmp_path):
    np.save(tmp_path / "in.npy", np.arange(48.0).reshape(2, 2, 2, 6))
    assert run(core, tmp_path, "--version").stdout == f"normviz {normviz.__version__}\n"
    assert '"key": "batch"' in run(core, tmp_path, "schemes", "--json").stdout
    done = run(core, tmp_path, "normalize", "--scheme", "group", "--groups", "3", "in.npy", "out.npy")
    assert (done.returncode, done.stderr) == (0, "")
    assert np.load(tmp_path / "out.npy").shape == (2, 2, 2, 6)


@pytest.mark.heavy
@pytest.mark.parametrize(("command", "extra"), [("table1", "train"), ("serve", "app")])
def test_a_command_that_needs_more_says_what_to_install(core, tmp_path, command, extra):
    done = run(core, tmp_path, command)
    assert done.returncode == 2
    assert done.stdout == ""
    assert f"normviz[{extra}]" in done.stderr
    assert done.stderr.count("\n") == 1


@pytest.mark.heavy
def test_the_wheel_serves_every_page_from_an_empty_folder(wheel, tmp_path):
    python = environment(tmp_path / "env")
    install(python, "--no-deps", wheel)
    [own] = (tmp_path / "env").glob("lib/python*/site-packages")
    (own / "dependencies.pth").write_text(sysconfig.get_path("purelib"))  # all that the app needs is there already
    (tmp_path / "empty").mkdir()
    where = run(python, tmp_path / "empty", "-c", "import normviz; print(normviz.__file__)").stdout
    assert where.startswith(str(own))
    with serving([python.with_name("normviz"), "serve", "--port"], tmp_path / "empty") as url:
        visits = all_at_once(url, PAGES)
    assert [error for visit in visits for error in visit.errors] == []
    assert all(visit.elements > 10 for visit in visits)
    theme = tomllib.loads(Path(ROOT, ".streamlit", "config.toml").read_text())["theme"]
    assert {visit.text_size for visit in visits} == {theme["baseFontSize"]}
