"""What the about-texts of schemes say of papers and code, computed."""

import numpy as np
import pytest

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme

RNG = np.random.default_rng(0)


def test_weight_standardization_is_the_paper_s_and_its_authors_code_is_another():
    """The paper takes the variance over n; the code, weight.std() + 1e-5, over n − 1 with ε outside the root."""
    w = RNG.normal(size=(3, 3, 4, 5))
    over = (0, 1, 2)
    v = w - w.mean(over)
    paper, code = v / w.std(over), v / (w.std(over, ddof=1) + 1e-5)
    ours = normalize(w, SCHEMES["weight-standardization"], 0.0).xhat
    np.testing.assert_allclose(ours, paper, rtol=1e-12)
    assert np.abs(ours - code).max() > 1e-3
    about = SCHEMES["weight-standardization"].about
    assert "n incoming weights" in about
    assert "variance 1, as in the paper" in about
    assert "PyTorch code takes the variance over n − 1 and adds ε outside the root" in about


@pytest.mark.parametrize("d", [4, 16])
def test_the_g_of_query_key_norm_is_gamma_squared_d_without_the_usual_factor_alone(d):
    """g is the factor of the cosine in the paper: γ²d, or γ²√d where attention divides by √d as usual."""
    gain, heads = 1.5, 2
    q, k = RNG.normal(size=(2, 6, 1, 1, heads * d))
    scheme = get_scheme("query-key", groups=heads)
    made, keys = (normalize(x, scheme, 0.0, gain).y.reshape(6, heads, d) for x in (q, k))
    q, k = (x.reshape(6, heads, d) for x in (q, k))
    cosine = (q * k).sum(-1) / np.linalg.norm(q, axis=-1) / np.linalg.norm(k, axis=-1)
    scores = (made * keys).sum(-1)
    np.testing.assert_allclose(scores, gain**2 * d * cosine, rtol=1e-12)
    assert np.abs(scores / d**0.5 - gain**2 * d * cosine).max() > 0.1
    assert "is γ²d, where attention leaves out its usual 1/√d" in scheme.about
