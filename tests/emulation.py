"""CUDA graphs as far as the CPU can play them: capturing runs the step, and a replay is the step run again."""

from unittest.mock import MagicMock

import pytest
import torch

from normviz.networks import capture, twins


def emulate_graphs(patch: pytest.MonkeyPatch) -> None:
    """Let trainings on the CPU take the way that those on a GPU take."""
    for name in ("Stream", "current_stream", "stream", "CUDAGraph", "graph"):
        patch.setattr(torch.cuda, name, MagicMock())
    patch.setattr(capture, "replay", lambda captured, step, number: step())
    patch.setattr(twins, "eager", capture.graph)
