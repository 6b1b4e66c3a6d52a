"""Each deliberate break of the code turns its test red."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from breaks import BREAKS

ROOT = Path(__file__).parents[1]


def copy_project(folder):
    """Copy what git tracks, with links to the environment and to the packages of JavaScript."""
    tracked = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in filter(None, tracked.splitlines()):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, folder / name)
    for name in (".venv", "node_modules"):
        if (ROOT / name).exists():
            (folder / name).symlink_to((ROOT / name).resolve())


@pytest.mark.parametrize("name", BREAKS)
def test_a_break_fits_the_code(name):
    found = BREAKS[name]
    assert (ROOT / found.file).read_text("utf-8").count(found.old) == 1, f"tests/breaks.py: {found.file} has changed"
    assert (ROOT / found.test.partition("::")[0]).is_file()


@pytest.mark.heavy
@pytest.mark.parametrize("name", BREAKS)
def test_a_break_turns_its_test_red(name, tmp_path):
    found = BREAKS[name]
    copy_project(tmp_path)
    broken = tmp_path / found.file
    broken.write_text(broken.read_text("utf-8").replace(found.old, found.new), "utf-8")
    command = [
        sys.executable,
        *["-m", "pytest", "-x", "-q", "-rf", "-p", "no:cacheprovider", "-p", "no:xdist"],
        found.test,
    ]
    kept = {key: value for key, value in os.environ.items() if not key.startswith("PYTEST_")}
    run = subprocess.run(command, cwd=tmp_path, env=kept, capture_output=True, text=True, timeout=600)
    assert "\nFAILED " in run.stdout, run.stdout[-2000:] + run.stderr[-2000:]  # an error of a fixture is no failed test
