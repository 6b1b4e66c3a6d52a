"""How fast `normviz.normalize` is beside torch.nn.functional, in processor time, on one thread.

    .venv/bin/python benchmarks/library.py [--rounds 7] [--smallest]

Both normalize the same float32 numbers of an ordinary layer. A round measures all of them, one after the other, so that
a ratio compares times of one moment. The careful way, which small arrays take, is exact for any numbers.
"""

import argparse
import os
import time
from collections.abc import Callable
from statistics import median
from unittest.mock import patch

os.environ.setdefault("OMP_NUM_THREADS", "1")

import paths  # noqa: F401  (normviz and the helpers of the tests)
import torch
from torch.nn import functional

import normviz
from normviz.core import normalize as normalization

SHAPE = (32, 56, 56, 64)
SMALLEST = (8, 24, 24, 16)


def measure(function: Callable[[], object]) -> float:
    """Return the processor time of a call, in ms."""
    start = time.process_time()
    function()
    return 1000 * (time.process_time() - start)


def make_rows(shape: tuple[int, ...]) -> dict[str, dict[str, Callable[[], object]]]:
    """Return the contenders of each scheme."""
    last = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    first = last.permute(0, 3, 1, 2).contiguous()
    _, h, w, c = shape
    peers = {
        "batch": lambda: functional.batch_norm(first, None, None, torch.ones(c), torch.zeros(c), training=True),
        "layer": lambda: functional.layer_norm(first, (c, h, w)),
        "instance": lambda: functional.instance_norm(first),
        "group": lambda: functional.group_norm(first, 2),
    }

    def carefully(key: str) -> object:
        with patch.object(normalization, "normalize_in_few_passes", lambda *_: None):
            return normviz.normalize(first, key, layout="NCHW")

    return {
        key: {
            "torch.nn": peer,
            "tensor": lambda key=key: normviz.normalize(first, key, layout="NCHW"),
            "array": lambda key=key: normviz.normalize(first.numpy(), key, layout="NCHW"),
            "carefully": lambda key=key: carefully(key),
        }
        for key, peer in peers.items()
    }


def main() -> None:
    """Measure and print a table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--smallest", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    shape, rounds = (SMALLEST, 1) if arguments.smallest else (SHAPE, arguments.rounds)
    rows = make_rows(shape)
    for row in rows.values():
        for contender in row.values():
            contender()
    times = [{key: {name: measure(f) for name, f in row.items()} for key, row in rows.items()} for _ in range(rounds)]
    print(f"**normalize, {' × '.join(map(str, shape))}, float32, ms of processor time: medians of {rounds}**\n")
    print("| scheme | torch.nn | torch tensor | NumPy array | the careful way | tensor / torch.nn | array / torch.nn |")
    print("|---|---|---|---|---|---|---|")
    for key, row in rows.items():
        found = {name: median(each[key][name] for each in times) for name in row}
        ratios = [median(each[key][name] / each[key]["torch.nn"] for each in times) for name in ("tensor", "array")]
        numbers = " | ".join(f"{value:.1f}" for value in (*found.values(), *ratios))
        print(f"| {key} | {numbers} |")


if __name__ == "__main__":
    main()
