"""Null experiments: where there is no difference, hardly any is called clear."""

import numpy as np
import pytest

from normviz.core.registry import SCHEMES
from normviz.core.scheme_spec import SchemeSpec
from normviz.describe.seeds import choose_learning_rate, compare_seed_by_seed, find_clear_differences
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.dense_grid import DenseGrid

EXPERIMENTS, COPIES, SEEDS = 100, 4, 8
RATES = (0.03, 0.1, 0.3)


def train(seeds):
    row = SchemeSpec.of(SCHEMES["layer"])
    return run_to_end(
        DenseGrid(RATES, "sgd", (16,), 16, row=row, networks=tuple(seeds), length=40, eps=1e-5, device="cpu")
    )


@pytest.mark.heavy
def test_copies_of_one_scheme_show_no_clear_difference():
    """A hundred experiments compare layer norm with three copies of it, each at its best rate, from other seeds."""
    count = COPIES * SEEDS
    clear = 0
    for start in range(0, EXPERIMENTS * count, 10 * count):
        result = train(range(start, start + 10 * count))
        for first in range(0, 10 * count, count):
            errors = []
            for copy in range(COPIES):
                place = slice(first + copy * SEEDS, first + (copy + 1) * SEEDS)
                best = choose_learning_rate(result["validation"][-1][:, place])
                errors.append(result["test"][-1][best, place])
            clear += any(find_clear_differences([compare_seed_by_seed(each, errors[0]) for each in errors[1:]]))
    assert clear <= 5


def test_a_difference_is_seen():
    """The same comparison finds a scheme whose errors are larger by three standard deviations."""
    rng = np.random.default_rng(0)
    found = 0
    for _ in range(100):
        errors = rng.standard_normal((COPIES, SEEDS))
        errors[1] += 3
        found += find_clear_differences([compare_seed_by_seed(each, errors[0]) for each in errors[1:]])[0]
    assert found > 90
