"""The forward pass network by network, and large windows in pieces: the same numbers, with less memory."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.jobs.spec import run_to_end
from normviz.topics.table1 import forward
from normviz.topics.table1.forward import ForwardJob, measure_forward_gaps, normalize_in_pieces
from normviz.topics.table1.results import TableResultCache
from normviz.train.problem import MEASURED_NETWORKS
from normviz.train.setting import Setting

FIELDS = {
    "windows": ("window(2),window(1),window(3),window(2)", "window(1),window(2),window(0),window(3)"),
    "one axis": ("own,full,full,window(2)", "own,full,full,window(2)"),
    "centred by all": ("full,full,full,full", "window(2),own,window(1),groups(2)"),
    "nothing to cut at": ("full,full,groups(2),full", "full,full,window(5),full"),
    "not centred": (None, "own,window(2),window(2),own"),
    "not divided": ("window(3),full,full,own", None),
}


def last(steps):
    *_, result = steps
    return result


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("piece", [1, 300, 3000])
def test_pieces_are_the_whole(name, piece, monkeypatch):
    monkeypatch.setattr(forward, "MAX_PIECE_ELEMENTS", piece)
    scheme = SCHEMES["custom"].with_fields(*(text and Field.parse(text) for text in FIELDS[name]))
    x = np.random.default_rng(0).standard_normal((9, 5, 6, 8))
    whole = normalize(x, scheme, 1e-3).xhat
    assert np.allclose(last(normalize_in_pieces(x, scheme, 1e-3)), whole, rtol=0, atol=1e-13 * np.abs(whole).max())


def test_large_windows_take_little_memory_and_may_be_left(monkeypatch):
    scheme = SCHEMES["custom"].with_fields(None, Field.parse("window(8),window(8),window(8),window(8)"))
    x = np.random.default_rng(0).standard_normal((64, 7, 7, 32))

    def run(piece):
        monkeypatch.setattr(forward, "MAX_PIECE_ELEMENTS", piece)
        tracemalloc.start()
        count = len(list(normalize_in_pieces(x, scheme, 0.0)))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return count, peak

    (once, whole), (pieces, least) = run(10**9), run(2**17)
    assert once == 1
    assert pieces > 4
    assert least < whole / 2


@pytest.mark.parametrize(
    ("change", "rows"),
    [
        ({"steps": 7, "optimizer": "adam", "rate": 0.5, "depth": 3, "device": "cpu"}, 0),
        ({"eps": 1e-3}, 2),
        ({"delta": 2.0}, 3),
        ({"seed": 1}, 3),
        ({"dtype": "float32"}, 3),
        ({"batch": 9}, 3),
    ],
    ids=str,
)
def test_a_setting_repeats_the_forward_passes_that_it_affects(change, rows):
    schemes, setting, results = (
        [SCHEMES[key] for key in ("batch", "weight", "layer")],
        Setting(batch=8),
        TableResultCache(),
    )
    for job in results.list_missing_measurements(schemes, setting):
        results.store_forward(job, run_to_end(job))
    assert results.list_missing_measurements(schemes, setting) == []
    assert len(results.list_missing_measurements(schemes, replace(setting, **change))) == rows


def test_a_row_is_kept_as_far_as_it_has_come_and_never_lost_again():
    scheme, setting, results = SCHEMES["batch"], Setting(batch=8), TableResultCache()
    job = ForwardJob.of(scheme, setting)
    steps = [step.result() for step in job.steps()]
    assert np.isnan(results.get_forward(scheme, setting).gaps).all()
    for measured in (steps[2], steps[-1], steps[1]):
        results.store_forward(job, measured)
        assert len(results.list_missing_measurements([scheme], setting)) == int(measured is steps[2])
    assert np.array_equal(results.get_forward(scheme, setting).gaps, measure_forward_gaps([scheme], setting)[0])
    assert len(steps[-1].gaps) == len(MEASURED_NETWORKS)
