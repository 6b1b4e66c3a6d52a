"""What `import normviz` gives, and that any module may be imported first."""

import doctest
import importlib
import pkgutil
import re
import subprocess
import sys
from pathlib import Path

import normviz
from normviz import core, data, describe
from normviz.core import backward as differentiating
from normviz.core import errors, fields, registry, theory
from normviz.core import normalize as normalizing

ROOT = Path(normviz.__file__).parents[1]


def test_the_face_of_the_library():
    face = {
        "backward": differentiating.backward,
        "normalize": normalizing.normalize,
        "get_scheme": registry.get_scheme,
        "SCHEMES": registry.SCHEMES,
        "Field": fields.Field,
        "Rule": fields.Rule,
        "predict": theory.predict,
        "InvalidInput": errors.InvalidInput,
        "__version__": normviz.__version__,
    }
    assert set(normviz.__all__) == set(face)
    assert all(getattr(normviz, name) is thing for name, thing in face.items())


def test_the_version_of_the_citation_and_of_the_changelog_is_the_packages():
    assert f"\nversion: {normviz.__version__}\n" in Path(ROOT, "CITATION.cff").read_text()
    [latest, *_] = re.findall(r"^## \[(.+?)\]", Path(ROOT, "CHANGELOG.md").read_text(), re.MULTILINE)
    assert latest == normviz.__version__


def test_the_examples_in_docstrings_give_what_they_say():
    folders = (core, data, describe)
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
        path for folder in ("core", "data", "describe") for path in Path(ROOT, "normviz", folder).glob("*.py")
    )
    names = [".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__") for path in paths]
    assert "normviz.core.fields" in names
    done = subprocess.run([sys.executable, "-c", FIRST.format(names=names)], cwd=ROOT, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (0, "")
