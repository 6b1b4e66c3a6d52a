"""A GPU against the CPU. Runs under `make test`, and alone under `make gpu`.

Without a CUDA device, or with PARITY_DEVICE=cpu, the CPU stands in for the GPU, so that the tests themselves stay true.
Nothing here may need more than torch, NumPy, scikit-learn, array-api-compat and pytest.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors, which many threads would only wait for

import pytest
import torch
from emulation import emulate_graphs

from normviz.train import step_functions, twins

DEVICE = os.environ.get("PARITY_DEVICE", "cuda" if torch.cuda.is_available() else "cpu")


@pytest.fixture
def device(monkeypatch):
    """Return the name of the device that is compared with the CPU, for `Setting` and for torch."""
    if DEVICE == "cpu":
        emulate_graphs(monkeypatch)
    return DEVICE


@pytest.fixture
def uncaptured(device, monkeypatch):
    """A function after which no step is captured any more."""

    def never():
        for way in ("make_graph_step", "make_eager_step"):
            monkeypatch.setattr(twins, way, step_functions.make_eager_step)

    return never
