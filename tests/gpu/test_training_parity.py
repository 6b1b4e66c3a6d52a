"""Training on a GPU comes to the losses that it comes to on the CPU; so do verdicts, and what is said of failures."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from pairs import pairwise
from tolerated import allowed, gap
from trained import train_losses

from normviz.core.registry import SCHEMES, get_scheme
from normviz.jobs.spec import run_to_end
from normviz.topics.design.training import list_training_jobs
from normviz.topics.table1.table import measure_cells
from normviz.topics.table1.training import TableTrainingJob
from normviz.train import twins
from normviz.train.devices import format_device_name, resolve_device
from normviz.train.setting import DTYPES, Setting

EVERY = [get_scheme(key, groups=2) for key in (*list(SCHEMES)[::2], *list(SCHEMES)[1::2])]
"""Every scheme, those that compute the same on a dense layer apart from each other, and spectral norm in between."""

SHORT = Setting(steps=4, batch=8, width=6, eps=1e-2)
"""Rounding has no time to grow."""


@pytest.mark.parametrize(
    ("dtype", "layer", "optimizer", "depth"),
    pairwise(DTYPES, ["dense", "conv"], ["sgd", "momentum", "adam"], [1, 2, 3]),
)
def test_losses(dtype, layer, optimizer, depth, device):
    setting = replace(SHORT, layer=layer, dtype=dtype, optimizer=optimizer, rate=0.01, depth=depth)
    here, there = (train_losses(EVERY, replace(setting, device=name)) for name in ("cpu", device))
    assert there.shape == (4, len(EVERY), len(twins.NETWORKS))
    assert np.isfinite(here).all()
    assert gap(there, here) <= allowed(setting)


def test_the_device_is_named(device):
    job = TableTrainingJob.of([SCHEMES["batch"]], replace(SHORT, device=device), [0])
    assert run_to_end(job).device == format_device_name(torch.device(device))


def test_auto_chooses_it(device):
    assert [resolve_device("auto", replace(SHORT, dtype=dtype).storage) for dtype in DTYPES] == [device] * len(DTYPES)


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_the_verdicts_of_the_papers_schemes(layer, device):
    schemes = [SCHEMES[key] for key in ("batch", "weight", "layer")]
    here, there = (measure_cells(schemes, Setting(layer=layer, device=name)) for name in ("cpu", device))
    for ours, theirs in zip(there, here, strict=True):
        assert ours.agrees
        assert ours.trained == theirs.trained or None in (ours.trained, theirs.trained)
    told = {(cell.scheme, cell.transformation): cell.trained for cell in there}
    assert told["batch", "dataset-rescaling"] is True
    assert told["layer", "weight-vector-rescaling"] is False


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_the_answers_of_searched_schemes(layer, device):
    (*_, here), (*_, there) = (list_training_jobs(layer, sample=3, device=name) for name in ("cpu", device))
    ours, theirs = run_to_end(here), run_to_end(there)
    for name in ("predicted", "forward", "agrees", "why"):
        assert np.array_equal(ours[name], theirs[name]), name


def test_what_is_not_finite_is_explained_alike(device):
    setting = Setting(rate=1e6, steps=20, delta=1000.0)
    jobs = (TableTrainingJob.of(EVERY, replace(setting, device=name), [0, 3]) for name in ("cpu", device))
    here, there = (run_to_end(job).failures for job in jobs)
    plain = [place for place in here if EVERY[place[0]].key == "none"]  # without any scheme nothing holds numbers back
    assert len(plain) == 2
    assert [there[place] for place in plain] == [here[place] for place in plain]
