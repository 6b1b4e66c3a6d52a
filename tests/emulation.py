"""CUDA graphs as far as the CPU can play them: a capture records the operations of a step, and a replay runs these."""

from unittest.mock import MagicMock

import pytest
import torch
from recording import Capturing, Recording

from normviz.train import step_functions, twins


def emulate_graphs(patch: pytest.MonkeyPatch) -> None:
    """Let trainings on the CPU take the way that those on a GPU take."""
    for name in ("Stream", "current_stream", "stream"):
        patch.setattr(torch.cuda, name, MagicMock())
    patch.setattr(torch.cuda, "CUDAGraph", Recording)
    patch.setattr(torch.cuda, "graph", Capturing)
    patch.setattr(twins, "make_eager_step", step_functions.make_graph_step)
