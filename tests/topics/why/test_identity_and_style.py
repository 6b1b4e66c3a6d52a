"""γ and β that undo a layer, photographs that exchange their statistics, and the papers' dates."""

from datetime import date

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from normviz.core.registry import SCHEMES
from normviz.topics.why import history, identity, style


@given(st.floats(0, 1), st.integers(0, 99))
def test_gain_and_bias_undo_the_layer(eps, seed):
    found = identity.undo_batch_norm(1.0, eps, seed)
    assert found.gap <= 1e-12 * np.abs(found.x).max()
    np.testing.assert_allclose(found.gain, np.sqrt(found.x.var(1) + eps), rtol=1e-9)
    np.testing.assert_allclose(found.bias, found.x.mean(1), atol=1e-12)
    start = identity.undo_batch_norm(0.0, eps, seed)
    np.testing.assert_allclose(start.y.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(start.y.var(1), found.x.var(1) / (found.x.var(1) + eps), rtol=1e-9)


@pytest.mark.parametrize("kernel", [0, 1, 3, 5])
def test_features_turn_back_into_the_picture(kernel):
    x = style.load_photos()["china"]
    side = kernel or 1
    q = style.make_random_basis(side, 4)
    np.testing.assert_allclose(style.rebuild_picture(style.extract_patch_features(x, side, q), side, q), x, atol=1e-12)


def test_turning_back_is_the_nearest_in_squares():
    side, rng = 3, np.random.default_rng(0)
    q, wanted = style.make_random_basis(side, 0), rng.standard_normal((6, 5, 27))
    best = style.rebuild_picture(wanted, side, q)
    rest = style.extract_patch_features(best, side, q) - wanted
    for _ in range(5):  # what is left over is at right angles to the features of every picture
        other = style.extract_patch_features(rng.standard_normal((6, 5, 3)), side, q)
        assert abs((rest * other).sum()) < 1e-9 * np.linalg.norm(rest) * np.linalg.norm(other) + 1e-9


@pytest.mark.parametrize("content", style.PHOTOS)
@pytest.mark.parametrize("kernel", [0, 1, 3])
def test_the_other_statistics_are_put_on(content, kernel):
    found = style.restyle_photo(content, 1.0, kernel, 0.0, 0)
    assert found.gap < 1e-10
    assert (found.seen_gap < 1e-10) == (kernel < 2)
    assert found.contrast_gap < 1e-12
    if not kernel:
        for mine, theirs in zip(
            style.compute_channel_moments(found.y), style.compute_channel_moments(found.style), strict=True
        ):
            np.testing.assert_allclose(mine, theirs, atol=1e-12)


def test_contrast_is_taken_as_far_as_epsilon_allows():
    assert style.restyle_photo("china", 0.1, 0, 0.0, 0).contrast_gap < 1e-9
    small, large = (style.restyle_photo("china", 0.1, 0, eps, 0).contrast_gap for eps in (1e-5, 1e-1))
    assert 1e-9 < small < 0.1 < large
    assert np.abs(style.restyle_photo("china", 0.0, 3, 0.0, 0).xhat).max() < 1e-9


def test_papers_have_the_dates_of_their_numbers_and_no_scheme_is_left_out():
    assert history.parse_arxiv_month("1502.03167") == date(2015, 2, 1)
    found = history.sort_schemes()
    assert SCHEMES.keys() - {scheme.key for scheme in found} == {"none", "custom"}
    dated = [(history.parse_arxiv_month(row.reference.arxiv), row) for row in found if row.reference.arxiv]
    assert [row for _, row in dated] == found[: len(dated)]
    assert [day for day, _ in dated] == sorted(day for day, _ in dated)
    for day, row in dated:  # a preprint comes in the year of its reference, or in the year before
        assert str(day.year) in row.reference.text or str(day.year + 1) in row.reference.text
