"""γ and β that undo a layer, and the papers' dates."""

from datetime import date

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from normviz.core.registry import SCHEMES
from normviz.topics.why import history, identity


@given(st.floats(0, 1), st.integers(0, 99))
def test_gain_and_bias_undo_the_layer(eps, seed):
    found = identity.undo_batch_norm(1.0, eps, seed)
    assert found.gap <= 1e-12 * np.abs(found.x).max()
    np.testing.assert_allclose(found.gain, np.sqrt(found.x.var(1) + eps), rtol=1e-9)
    np.testing.assert_allclose(found.bias, found.x.mean(1), atol=1e-12)
    start = identity.undo_batch_norm(0.0, eps, seed)
    np.testing.assert_allclose(start.y.mean(1), 0, atol=1e-12)
    np.testing.assert_allclose(start.y.var(1), found.x.var(1) / (found.x.var(1) + eps), rtol=1e-9)


def test_papers_have_the_dates_of_their_numbers_and_no_scheme_is_left_out():
    assert history.parse_arxiv_month("1502.03167") == date(2015, 2, 1)
    found = history.sort_schemes()
    assert SCHEMES.keys() - {scheme.key for scheme in found} == {"none", "custom"}
    dated = [(history.parse_arxiv_month(row.reference.arxiv), row) for row in found if row.reference.arxiv]
    assert [row for _, row in dated] == found[: len(dated)]
    assert [day for day, _ in dated] == sorted(day for day, _ in dated)
    for day, row in dated:  # a preprint comes in the year of its reference, or in the year before
        assert str(day.year) in row.reference.text or str(day.year + 1) in row.reference.text
