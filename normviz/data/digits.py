"""scikit-learn's handwritten digits, read from its file: importing the library itself takes ten times as long."""

from functools import cache
from importlib.util import find_spec
from pathlib import Path

import numpy as np

DIGIT_SIDE = 8
"""Height and width of the pictures."""

DIGIT_CLASSES = 10
"""The digits 0 to 9."""

DIGITS_DESCRIPTION = f"1,797 handwritten digits of {DIGIT_SIDE} × {DIGIT_SIDE} pixels"
"""The data in words."""


def find_sklearn_data() -> Path:
    """Return the folder of the data sets that scikit-learn ships."""
    found = find_spec("sklearn")
    if found is None or found.origin is None:
        raise ModuleNotFoundError(
            'digits and photographs come with scikit-learn, which pip install "normviz[train]" installs.',
            name="sklearn",
        )
    return Path(found.origin).parent / "datasets"


@cache
def load_digits() -> tuple[np.ndarray, np.ndarray]:
    """Load 1797 handwritten digits, (digits, 8, 8) in 0..1, and their classes 0..9 (Alpaydin & Kaynak 1998, UCI)."""
    table = np.loadtxt(find_sklearn_data() / "data" / "digits.csv.gz", delimiter=",")
    images, labels = table[:, :-1].reshape(-1, DIGIT_SIDE, DIGIT_SIDE) / 16, table[:, -1].astype(int)
    images.flags.writeable = labels.flags.writeable = False
    return images, labels


def load_digit_split(test: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Load training digits (digits, 8, 8) and their classes; if `test`, the test digits, every fourth one."""
    images, labels = load_digits()
    chosen = (np.arange(len(images)) % 4 == 0) == test
    return images[chosen], labels[chosen]


def order_mini_batches(rng: np.random.Generator, count: int, steps: int, batch: int) -> np.ndarray:
    """Return example indices of mini-batches, (steps, batch); every epoch is a new permutation of `count` examples."""
    rounds = steps * batch // count + 1
    return np.concatenate([rng.permutation(count) for _ in range(rounds)])[: steps * batch].reshape(steps, batch)


def cut_patches(images: np.ndarray, kernel: int) -> np.ndarray:
    """Cut images (digits, side, side) into all their k × k patches, (digits, positions, k²), k = `kernel`."""
    windows = np.lib.stride_tricks.sliding_window_view(images, (kernel, kernel), axis=(1, 2))
    return windows.reshape(len(images), -1, kernel * kernel)
