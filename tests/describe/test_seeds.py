"""What several seeds say together, against SciPy's own tests and against the definition of Holm's correction."""

from itertools import combinations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from normviz.describe.seeds import (
    SIGNIFICANCE_LEVEL,
    MeanDifference,
    choose_learning_rate,
    compare_seed_by_seed,
    estimate_band,
    estimate_mean,
    find_clear_differences,
)

RNG = np.random.default_rng(0)


@pytest.mark.parametrize("count", [2, 3, 8, 16])
def test_means_and_intervals_are_those_of_students_t(count):
    values = RNG.normal(size=(3, count))
    mean, half_width = estimate_mean(values)
    low, high = stats.t.interval(0.95, count - 1, values.mean(-1), stats.sem(values, axis=-1))
    np.testing.assert_allclose(mean, values.mean(-1))
    np.testing.assert_allclose([mean - half_width, mean + half_width], [low, high])
    np.testing.assert_allclose(estimate_band(values)[1:], [low, high])
    np.testing.assert_allclose(estimate_mean(values.T, axis=0), [mean, half_width])


@pytest.mark.parametrize("count", [2, 3, 8, 16])
def test_two_schemes_are_compared_as_by_a_paired_t_test(count):
    values, others = RNG.normal(1, size=count), RNG.normal(size=count)
    found, expected = compare_seed_by_seed(values, others), stats.ttest_rel(values, others)
    interval = expected.confidence_interval(0.95)
    assert found.p_value == pytest.approx(expected.pvalue)
    assert found.mean - found.half_width == pytest.approx(interval.low)
    assert found.mean + found.half_width == pytest.approx(interval.high)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_numbers_that_are_not_finite_decide_nothing(bad):
    found = compare_seed_by_seed([1.0, bad, 2.0], [0.0, bad, 0.0])
    assert np.isnan(found).all()
    assert find_clear_differences([found]) == [False]
    assert np.isnan(estimate_mean(np.array([1.0, bad]))).all()


def test_one_seed_has_no_interval():
    assert np.isnan(compare_seed_by_seed([1.0], [0.0])).all()
    mean, half_width = estimate_mean(np.array([1.0]))
    assert (float(mean), np.isnan(half_width)) == (1.0, True)


def test_differences_that_are_all_alike():
    assert compare_seed_by_seed([1, 2], [1, 2]) == (0, 0, 1)
    assert compare_seed_by_seed([2, 3], [1, 2]) == (1, 0, 0)
    coarse = compare_seed_by_seed([2, 3, 4], [1, 2, 3], resolution=1)  # as numbers of a grid of whole numbers
    assert coarse.half_width == pytest.approx(stats.t.ppf(0.975, 2) / 12**0.5 / 3**0.5)


def test_a_difference_in_words():
    assert compare_seed_by_seed([3.0, 4.1, 5.0], [1.0, 2.0, 3.0]).text() == "2 ± 0.14"
    assert MeanDifference(-0.0123, 0.004).text(100) == "−1.2 ± 0.4"
    assert MeanDifference(1e-18, 0.1).text() == "0 ± 0.1"


def clear_by_closure(p_values):
    """Holm's correction by its definition: every intersection that holds a hypothesis is rejected by Bonferroni."""
    count = len(p_values)
    subsets = [each for size in range(1, count + 1) for each in combinations(range(count), size)]
    rejected = {each for each in subsets if min(p_values[k] for k in each) <= SIGNIFICANCE_LEVEL / len(each)}
    return [all(each in rejected for each in subsets if k in each) for k in range(count)]


@given(
    st.lists(st.sampled_from([0.0, 0.001, 0.011, 0.012, 0.013, 0.02, 0.03, 0.049, 0.05, 0.051, 0.5, 1.0]), max_size=6)
)
def test_clear_differences_are_those_of_holm(p_values):
    assert find_clear_differences([MeanDifference(1, 1, p_value) for p_value in p_values]) == clear_by_closure(p_values)


def test_where_nothing_differs_any_of_four_is_called_clear_in_one_of_twenty():
    rng, families = np.random.default_rng(1), 4000
    wrong = 0
    for _ in range(families):
        base, *others = rng.normal(size=(5, 8))
        wrong += any(find_clear_differences([compare_seed_by_seed(other, base) for other in others]))
    assert wrong / families < SIGNIFICANCE_LEVEL + 3 * (SIGNIFICANCE_LEVEL * (1 - SIGNIFICANCE_LEVEL) / families) ** 0.5


def test_the_best_rate_is_chosen_by_means_and_the_smaller_of_two():
    assert choose_learning_rate(np.array([[0.3, 0.3], [0.2, 0.1], [0.1, 0.2]])) == 1
    assert choose_learning_rate(np.array([[np.nan, 0.0], [0.5, 0.5]])) == 1
    assert choose_learning_rate(np.full((3, 2), np.nan)) == 0
