"""Whitening against what it promises, and against the general form."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.why import whitening
from normviz.topics.why.whitening import STAGES, compute_correlation, compute_covariance, sample_normal_cloud

CORRELATIONS = st.floats(-1, 1).filter(lambda r: 1 - abs(r) > 1e-6 or abs(r) == 1)


@given(CORRELATIONS, st.floats(0.1, 10), st.integers(0, 9999))
def test_whitened_is_the_identity_where_there_is_a_plane(r, ratio, seed):
    x = sample_normal_cloud(r, ratio, seed)
    rank = 1 if abs(r) == 1 else 2
    for key in ("zca", "pca"):
        made = STAGES[key](x, 0.0)
        values = np.linalg.eigvalsh(compute_covariance(made))[::-1]
        np.testing.assert_allclose(made.mean(0), 0, atol=1e-9)
        np.testing.assert_allclose(values, [1.0] * rank + [0.0] * (2 - rank), atol=1e-8)


@given(CORRELATIONS, st.floats(0.1, 10), st.floats(0, 1))
def test_scaled_per_feature_is_batch_norm_with_its_variance(r, ratio, eps):
    x = sample_normal_cloud(r, ratio, 0)
    made = STAGES["scaled"](x, eps)
    np.testing.assert_allclose(made, normalize(x[:, None, None], SCHEMES["batch"], eps).xhat[:, 0, 0], atol=1e-9)
    np.testing.assert_allclose(made.var(0), x.var(0) / (x.var(0) + eps), rtol=1e-9)
    assert compute_correlation(compute_covariance(made)) == pytest.approx(
        compute_correlation(compute_covariance(x)), abs=1e-9
    )


@given(st.floats(-0.99, 0.99), st.floats(0.1, 10), st.floats(0, 1))
def test_zca_is_symmetric_and_pca_is_it_rotated(r, ratio, eps):
    cov = compute_covariance(sample_normal_cloud(r, ratio, 1))
    zca, pca = (whitening.make_whitening_matrix(cov, eps, back) for back in (True, False))
    np.testing.assert_allclose(zca, zca.T, atol=1e-9 * np.abs(zca).max())
    np.testing.assert_allclose(zca @ zca, np.linalg.inv(cov + eps * np.eye(2)), rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(zca.T @ zca, pca.T @ pca, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("r", [0.9, 1.0])
@pytest.mark.parametrize("eps", [0.0, 1e-5, 1.0])
def test_zca_is_the_scheme_of_the_registry_with_one_group(r, eps):
    x = sample_normal_cloud(r, 3.0, 0)
    expected = normalize(x[:, None, None], get_scheme("whitening", groups=1), eps).xhat[:, 0, 0]
    np.testing.assert_allclose(STAGES["zca"](x, eps), expected, atol=1e-9)


def test_an_ellipse_has_the_covariance():
    cov = np.array([[4.0, 1.0], [1.0, 2.0]])
    away = whitening.make_covariance_ellipse(np.array([3.0, -1.0]), cov) - [3.0, -1.0]
    np.testing.assert_allclose(np.einsum("ki,ij,kj->k", away, np.linalg.inv(cov), away), whitening.ELLIPSE_RADIUS**2)


def test_two_features_of_digits_are_numbers_from_0_to_1_and_not_the_same():
    for first in whitening.FEATURES:
        for second in whitening.FEATURES:
            x = whitening.compute_digit_features(first, second)
            assert x.shape == (1797, 2)
            assert (x >= 0).all()
            assert (x <= 1).all()
            assert (np.array_equal(x[:, 0], x[:, 1])) == (first == second)


def test_a_mini_batch_has_distinct_points_of_the_cloud():
    x = sample_normal_cloud(0.5, 1.0, 0)
    batches = whitening.sample_mini_batches(x, 16, 3)
    assert batches.shape == (whitening.BATCH_COUNT, 16, 2)
    assert all(len(np.unique(batch, axis=0)) == 16 for batch in batches)
    assert np.isin(batches, x).all()


def test_statistics_are_counted():
    assert whitening.count_statistics(2) == (4, 5)
    assert whitening.count_statistics(512) == (1024, 512 + 512 * 513 // 2)
