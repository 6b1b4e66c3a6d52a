"""What `import normviz` gives, and that any module may be imported first."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import pytest

import normviz
from normviz import core, data, describe, library

ROOT = Path(normviz.__file__).parents[1]


def test_the_face_of_the_library():
    assert {name for name in normviz.__all__ if name != "__version__"} == set(normviz._MODULES)
    assert set(dir(normviz)) == set(normviz.__all__)
    assert all(getattr(normviz, name).__doc__ for name in normviz.__all__)
    with pytest.raises(AttributeError, match="has no attribute 'normalise'"):
        normviz.normalise  # noqa: B018


def test_the_help_names_every_scheme_and_transformation():
    words = set(re.findall(r"[a-z][a-z-]*[a-z]", normviz.__doc__))
    assert {*normviz.SCHEMES, *normviz.TRANSFORMATIONS} <= words


def test_the_package_alone_imports_nothing_until_a_name_is_used():
    script = "import sys, normviz; assert 'numpy' not in sys.modules; normviz.normalize; assert 'numpy' in sys.modules"
    subprocess.run([sys.executable, "-c", script], cwd=ROOT, check=True)


def test_the_version_of_the_citation_and_of_the_changelog_is_the_packages():
    assert f"\nversion: {normviz.__version__}\n" in Path(ROOT, "CITATION.cff").read_text()
    assert f" version = {{{normviz.__version__}}},\n" in Path(ROOT, "docs/citing.md").read_text()
    [latest, *_] = re.findall(r"^## \[(.+?)\]", Path(ROOT, "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest == normviz.__version__


def test_the_examples_in_docstrings_give_what_they_say():
    folders = (core, data, describe, library)
    names = [each.name for folder in folders for each in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}.")]
    results = [doctest.testmod(importlib.import_module(name)) for name in names]
    assert sum(each.attempted for each in results) > 40
    assert not any(each.failed for each in results)


FIRST = """
import importlib, sys
for name in {names}:
    for there in [there for there in sys.modules if there.partition(".")[0] == "normviz"]:
        del sys.modules[there]
    importlib.import_module(name)
"""


def test_any_module_that_computes_may_be_imported_first():
    paths = sorted(
        path
        for folder in ("core", "data", "describe", "library")
        for path in Path(ROOT, "normviz", folder).glob("*.py")
    )
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    assert "normviz.core.fields" in names
    done = subprocess.run([sys.executable, "-c", FIRST.format(names=names)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
