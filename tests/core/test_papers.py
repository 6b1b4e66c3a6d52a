"""The newer schemes beside the formulas of their papers, each written out in NumPy as the paper has it."""

import numpy as np
import pytest
from direct import relative_difference
from strategies import noise

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme

SHAPE = (4, 3, 5, 6)
GAIN, BIAS = 1.5, -0.25


def ghost_batch(x, eps):
    """Hoffer et al. 2017, Algorithm 1: batch norm of each small batch, here of two."""
    small = [part - part.mean((0, 1, 2)) for part in (x[:2], x[2:])]
    return GAIN * np.concatenate([part / np.sqrt((part**2).mean((0, 1, 2)) + eps) for part in small]) + BIAS


def mean_only_batch(x, eps):
    """Salimans & Kingma 2016, section 4: t̃ = t - μ[t] + b."""
    return x - x.mean((0, 1, 2)) + BIAS


def filter_response(x, eps):
    """Singh & Krishnan 2020, section 3: ν² = Σ x²/N over the N positions of a channel, y = γ x/√(ν² + ε) + β."""
    y = np.empty_like(x)
    for b in range(x.shape[0]):
        for c in range(x.shape[3]):
            positions = x[b, :, :, c].ravel()
            y[b, :, :, c] = GAIN * x[b, :, :, c] / np.sqrt(positions @ positions / len(positions) + eps) + BIAS
    return y


def scale(x, eps):
    """Nguyen & Salazar 2019, eq. 5: g x/‖x‖, with g = γ√C; ε stands beside the mean square of x."""
    length = np.sqrt((x**2).sum(-1, keepdims=True) + x.shape[3] * eps)
    return GAIN * np.sqrt(x.shape[3]) * x / length


def pixel(x, eps):
    """Karras et al. 2018, section 4.2: b = a/√(Σ_j (a^j)²/N + ε) over the N feature maps of a pixel."""
    return x / np.sqrt(sum(x[..., j] ** 2 for j in range(x.shape[3])) / x.shape[3] + eps)[..., None]


def query_key(x, eps):
    """Henry et al. 2020: each head has length 1, here times γ√d; ε stands beside the mean square of x."""
    heads = np.split(x, 2, axis=-1)
    d = heads[0].shape[-1]
    units = [head / np.sqrt((head**2).sum(-1, keepdims=True) + d * eps) for head in heads]
    return GAIN * np.sqrt(d) * np.concatenate(units, -1)


PAPERS = {
    "ghost-batch": ghost_batch,
    "mean-only-batch": mean_only_batch,
    "filter-response": filter_response,
    "scale": scale,
    "pixel": pixel,
    "query-key": query_key,
}


@pytest.mark.parametrize("key", PAPERS)
@pytest.mark.parametrize("eps", [0.0, 1e-5, 0.5])
def test_a_scheme_is_its_papers(key, eps):
    scheme, x = SCHEMES[key], noise(0, *SHAPE)
    gain = 1.0 if scheme.gain is None else GAIN
    bias = 0.0 if scheme.bias is None else BIAS
    assert relative_difference(normalize(x, scheme, eps, gain, bias).y, PAPERS[key](x, eps)) < 1e-14


def test_with_one_small_batch_ghost_batch_norm_is_batch_norm():
    x = noise(1, *SHAPE)
    one = normalize(x, get_scheme("ghost-batch", groups=1)).xhat
    np.testing.assert_allclose(one, normalize(x, SCHEMES["batch"]).xhat, rtol=1e-14)


def test_the_product_of_a_query_and_a_key_is_the_papers_g_times_their_cosine():
    query, key = noise(2, 1, 1, 1, 8), noise(3, 1, 1, 1, 8)
    gain, d = 0.7, 4
    ours = [normalize(t, SCHEMES["query-key"], 0.0, gain).y.reshape(2, d) for t in (query, key)]
    theirs = [t.reshape(2, d) / np.linalg.norm(t.reshape(2, d), axis=1, keepdims=True) for t in (query, key)]
    np.testing.assert_allclose((ours[0] * ours[1]).sum(1), gain**2 * d * (theirs[0] * theirs[1]).sum(1), rtol=1e-14)
