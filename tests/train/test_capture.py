"""What goes wrong on a GPU alone, on stand-ins for the parts of torch.cuda that it goes wrong with."""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from threading import Barrier

import numpy as np
import torch
from trained import train_losses

from normviz.core.registry import SCHEMES
from normviz.train import step_functions, twins
from normviz.train.setting import Setting

SMALL = Setting(steps=2, batch=4, width=4)


class Streams:
    """torch.cuda's streams and captures, which write down on what stream, and beside what else, steps run."""

    def __init__(self, patch):
        self.made, self.now, self.ran, self.at_work, self.most = 0, [], [], 0, 0
        patch.setattr(torch.cuda, "Stream", self.stream)
        patch.setattr(torch.cuda, "current_stream", lambda: Stream("default"))
        patch.setattr(torch.cuda, "stream", self.on)
        patch.setattr(torch.cuda, "CUDAGraph", lambda: None)
        patch.setattr(torch.cuda, "graph", Graph)
        patch.setattr(Graph, "default_capture_stream", None)
        patch.setattr(Graph, "streams", self, raising=False)
        patch.setattr(step_functions, "replay_graph", lambda captured, step, number: step())
        patch.setattr(twins, "make_eager_step", step_functions.make_graph_step)

    def stream(self):
        self.made += 1
        return Stream(f"side {self.made}")

    @contextmanager
    def on(self, stream):
        self.ran.append(stream.name)
        self.at_work += 1
        self.most = max(self.most, self.at_work)
        time.sleep(0.01)  # a thread that could come in between now would
        yield
        self.at_work -= 1


class Stream:
    def __init__(self, name):
        self.name = name

    def wait_stream(self, other):
        """Streams run at once here."""


class Graph:
    """As torch's own: where no stream is given, all captures share one, which the first of them makes."""

    default_capture_stream = None

    def __init__(self, captured, stream=None, capture_error_mode="global"):
        assert capture_error_mode == "thread_local"
        if stream is None and Graph.default_capture_stream is None:
            Graph.default_capture_stream = torch.cuda.Stream()
        self.capture_stream = stream or Graph.default_capture_stream

    def __enter__(self):
        self.within = self.streams.on(self.capture_stream)
        self.within.__enter__()

    def __exit__(self, *error):
        self.within.__exit__(*error)


def test_all_trainings_warm_up_on_the_one_stream_that_they_are_captured_on(monkeypatch):
    """cuBLAS keeps up to 32 MB for every stream that a thread has used, for good; torch hands out 32 different ones."""
    streams = Streams(monkeypatch)
    for seed in range(3):
        train_losses([SCHEMES["batch"]], Setting(steps=2, batch=4, width=4, seed=seed))
    assert streams.made == 1
    assert set(streams.ran) == {"side 1"}


def test_nobody_warms_up_on_a_stream_while_it_is_captured(monkeypatch):
    streams = Streams(monkeypatch)
    with ThreadPoolExecutor(4) as pool:
        list(
            pool.map(
                lambda seed: train_losses([SCHEMES["layer"]], Setting(steps=2, batch=4, width=4, seed=seed)), range(8)
            )
        )
    assert streams.most == 1


def test_two_threads_that_decompose_first_do_not_load_torchs_linear_algebra_at_once(monkeypatch):
    """As torch does on CUDA, where a second one that comes while the first one loads gets an error."""
    eigh, both, state = torch.linalg.eigh, Barrier(2), {"loading": 0, "loaded": False}

    def lazily(*args):
        if not state["loaded"]:
            state["loading"] += 1
            time.sleep(0.2)
            if state["loading"] > 1:
                raise RuntimeError("lazy wrapper should be called at most once")
            state["loaded"] = True
        return eigh(*args)

    def job(seed):
        both.wait(10)
        return train_losses([SCHEMES["spectral"]], Setting(steps=2, batch=4, width=4, seed=seed))

    monkeypatch.setattr(torch.linalg, "eigh", lazily)
    with ThreadPoolExecutor(2) as pool:
        assert all(np.isfinite(losses).all() for losses in pool.map(job, range(2)))
