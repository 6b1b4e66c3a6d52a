"""A GPU against the CPU. Runs under `make test`, skipped where there is no CUDA device, and alone under `make gpu`.

Nothing here may need more than torch, NumPy, scikit-learn, array-api-compat and pytest. With PARITY_DEVICE=cpu the CPU
stands in for the GPU, so that the tests themselves can be tried anywhere.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")  # small tensors, which many threads would only wait for

import pytest
import torch
from emulation import emulate_graphs

from normviz.networks import capture, twins

DEVICE = os.environ.get("PARITY_DEVICE", "cuda")


@pytest.fixture
def device(monkeypatch):
    """The device that is held against the CPU, for `Setting` and for torch."""
    if DEVICE == "cuda" and not torch.cuda.is_available():
        pytest.skip("no CUDA device here")
    if DEVICE == "cpu":
        emulate_graphs(monkeypatch)
    return DEVICE


@pytest.fixture
def uncaptured(device, monkeypatch):
    """A function after which no step is captured any more."""

    def never():
        for way in ("graph", "eager"):
            monkeypatch.setattr(twins, way, capture.eager)

    return never
