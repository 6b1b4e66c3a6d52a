import gc
import os
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors, and a browser beside them: threads would only wait

import pytest
from durations import pytest_collection_modifyitems, pytest_terminal_summary  # noqa: F401 - hooks
from hypothesis import settings
from streamlit.components.v2 import manifest_scanner

# The same examples in every run (derandomize), and no time limit on one: the first call of a library is slow.
settings.register_profile("usual", derandomize=True, deadline=None, max_examples=50)
# `make test-thorough`: what `strategies.examples` asks for in full, and other examples in every run.
settings.register_profile("thorough", deadline=None, max_examples=200, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "usual"))

# What tests keep of experiments is theirs alone; servers that they start have it from here.
_RESULTS = TemporaryDirectory()
os.environ["NORMVIZ_RESULTS"] = str(Path(_RESULTS.name) / "results.sqlite")

MAIN = sys.modules["__main__"]

# AppTest looks for components among all installed packages in every run of a page: four fifths of its time.
manifest_scanner.scan_component_manifests = cache(manifest_scanner.scan_component_manifests)


@pytest.fixture(scope="module", autouse=True)
def _frozen() -> None:
    """What is imported stays out of the collections that Streamlit asks for in every run once Keras is there."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session", autouse=True)
def _torch_trains() -> None:
    """No job loads the compiled kernels into this process, whose tests expect the losses of torch to the last digit."""
    if "torch" in sys.modules:
        from normviz.train import compiled

        compiled.start_loading = lambda: None


@pytest.fixture(autouse=True)
def _main() -> Iterator[None]:
    """AppTest leaves the page's script as the main module, which a process that a later test spawns would run."""
    yield
    sys.modules["__main__"] = MAIN


@pytest.fixture
def travelling(monkeypatch) -> None:
    """Every run of a page comes of a step in the browser's history."""
    monkeypatch.setattr("normviz.ui.link.is_history_step", lambda: True)
