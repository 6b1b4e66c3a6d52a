"""No upload takes more than 100 MB of memory, whatever it holds, and ordinary ones are read."""

import json
import subprocess
import sys
from pathlib import Path

import hostile
import pytest

READ = {
    "npz, zeros as promised, to the command",
    "png, 4096 x 4096 in colour",
    "png, 5792 x 5792 grey",
    "png, interlaced",
    "png, noise of 5 MB",
    "jpg, 24 megapixels",
    "jpg, 24 megapixels progressive",
    "jpg, 12 megapixels",
    "jpg, 12 megapixels progressive",
    "jpg, 12 megapixels progressive, full colour",
    "jpg, tags",
}
REFUSED = {
    "npz, many members": "more than 64 arrays",
    "npz, one member many times": "more than 64 arrays",
    "png, empty chunks of pixels": "more than 10,000 chunks",
    "png, unknown chunks": "more than 10,000 chunks",
    "jpg, 105 KB of scans": "4096 × 4096 pixels in 1,881 scans; save it with 32 or fewer",
    "jpg, 5 MB of scans of 65500 x 1": "more than 10,000 segments",
    "jpg, 24 megapixels progressive, full colour": "144 MB to decode; up to 80 MB",
    "jpg, 4 inks": "92 MB to decode; up to 80 MB",
    "jpg, comments": "more than 10,000 segments",
    "jpg, arithmetic code": "a rare kind",
}


@pytest.fixture(scope="module")
def costs():
    """Of all cases, by their names; measured in processes that have done nothing else."""
    done = subprocess.run(
        [sys.executable, hostile.__file__, "--json"], capture_output=True, text=True, check=True, timeout=300
    )
    found = [json.loads(line) for line in done.stdout.splitlines()]
    return {each["case"]: each for each in found}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="the peak of memory is read as on Linux")
@pytest.mark.parametrize("case", hostile.CASES)
def test_no_upload_takes_more_than_100_megabytes(costs, case):
    assert costs[case]["MB"] < 100, costs[case]


@pytest.mark.parametrize("case", sorted(READ))
def test_ordinary_uploads_are_read(costs, case):
    assert costs[case]["outcome"].startswith("read: ")


@pytest.mark.parametrize("case", sorted(REFUSED))
def test_costly_uploads_are_refused_with_the_bound(costs, case):
    assert REFUSED[case] in costs[case]["outcome"]
