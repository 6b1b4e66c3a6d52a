"""Memory that the costliest job of every experiment takes at the most networks of each kind."""

import gc
from itertools import islice
from pathlib import Path

import pytest

from normviz.jobs.default_queue import JOB_LIMITS
from normviz.jobs.executors import release_memory
from normviz.jobs.limits import read_resident_memory
from normviz.topics.experiments.catalogue import EXPERIMENTS

PEAK = Path("/proc/self/clear_refs")

STEPS = 2
"""Steps that are measured. The first one measures errors, too, and allocates the optimizer's state."""

SHARE = 0.4
"""The share of the limit that these steps may take. Over a whole training the heap grows, as its gaps do not fit the
next tensors: from 200 to 830 MB for 272 dense networks, and from 680 to 810 MB for the experiment on a leak."""


def peak_growth(work):
    """Return the bytes by which this process grows at most while it works."""
    gc.collect()
    release_memory()
    before = read_resident_memory()
    PEAK.write_text("5")  # the peak counts from here (man 5 proc)
    work()
    (peak,) = (
        line.split()[1] for line in Path("/proc/self/status").read_text().splitlines() if line.startswith("VmHWM")
    )
    return 1024 * int(peak) - before


@pytest.mark.skipif(not PEAK.exists(), reason="only Linux tells the peak")
@pytest.mark.parametrize("key", EXPERIMENTS)
def test_the_most_networks_of_each_kind_fit_a_job(key):
    each = EXPERIMENTS[key]
    costliest = max(each.list_jobs(each.setting(seeds=each.setting.seeds.most)), key=lambda part: part.seconds)
    assert peak_growth(lambda: list(islice(costliest.steps(), STEPS))) < SHARE * JOB_LIMITS.memory


@pytest.mark.skipif(not PEAK.exists(), reason="only Linux tells the peak")
def test_the_peak_counts_what_is_freed_again():
    assert peak_growth(lambda: bytearray(b"x") * 2**27) > 2**27 * 0.9
