"""Style as statistics: a picture with the channel means and standard deviations of another.

Instance norm uses a picture's own μ and σ for each channel; AdaIN replaces them by another picture's:

    y = σ(style) · (x − μ(x)) / √(σ²(x) + ε) + μ(style)

on pixels, or on features: all patches of k × k pixels in a random orthogonal basis Q. Each pixel is in k² patches, so
mapping the features back and dividing by k² is the pseudo-inverse: it restores a picture from its own features.

Source: Ulyanov et al. 2016, arXiv 1607.08022; Huang & Belongie 2017, arXiv 1703.06868, eq. 8, on the features of a
trained network and with a trained decoder, which random features are not.
"""

from typing import NamedTuple

import numpy as np

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.data.samples import SAMPLES

SIZE = (144, 192)
PHOTOS = {"china": "Temple", "flower": "Flower"}
"""The photographs, in the order of the sample."""

INSTANCE_NORM = SCHEMES["instance"]


class RestyledPhoto(NamedTuple):
    """Pictures (H, W, 3): content, style, x̂ as a picture, and the content in the other's style.

    Attributes:
        gap: the largest difference of channel means and deviations from the style's, over the style's largest
            deviation, in the features where they were set.
        seen_gap: the same in the features of the shown picture.
        contrast_gap: the largest difference of x̂ from x̂ at full contrast.
        channels: number of channels.
    """

    content: np.ndarray
    style: np.ndarray
    xhat: np.ndarray
    y: np.ndarray
    gap: float
    seen_gap: float
    contrast_gap: float
    channels: int


def load_photos() -> dict[str, np.ndarray]:
    """Load both photographs, (H, W, 3) in 0..1, by key."""
    return dict(zip(PHOTOS, SAMPLES["photo"].make((2, *SIZE, 3), 0), strict=True))


def make_random_basis(kernel: int, seed: int) -> np.ndarray:
    """Return random orthogonal filters as columns, (k·k·3, k·k·3)."""
    size = kernel * kernel * 3
    return np.linalg.qr(np.random.default_rng([seed, 25]).standard_normal((size, size)))[0]


def extract_patch_features(x: np.ndarray, kernel: int, q: np.ndarray) -> np.ndarray:
    """Express the patch around every pixel in a basis, (H, W, k·k·3); the borders wrap around."""
    shifts = [np.roll(x, (-i, -j), (0, 1)) for i, j in _list_offsets(kernel)]
    return np.concatenate(shifts, axis=-1) @ q


def rebuild_picture(patch_features: np.ndarray, kernel: int, q: np.ndarray) -> np.ndarray:
    """Rebuild a picture from patch features: each pixel is the mean over the patches that hold it."""
    patches = np.split(patch_features @ q.T, kernel * kernel, axis=-1)
    parts = [np.roll(each, (i, j), (0, 1)) for (i, j), each in zip(_list_offsets(kernel), patches, strict=True)]
    return np.mean(parts, axis=0)


def _list_offsets(kernel: int) -> list[tuple[int, int]]:
    around = range(-(kernel // 2), kernel // 2 + 1)
    return [(i, j) for i in around for j in around]


def compute_channel_moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Compute the mean and the standard deviation of every channel."""
    return x.mean((0, 1)), x.std((0, 1))


def restyle_photo(content: str, contrast: float, kernel: int, eps: float, seed: int) -> RestyledPhoto:
    """Return a photograph with the style of the other; `kernel`: 0 for pixels, else the side of the patches."""
    pictures = load_photos()
    whole, style = pictures.pop(content), pictures.popitem()[1]
    x = whole.mean((0, 1)) + contrast * (whole - whole.mean((0, 1)))
    q = make_random_basis(kernel, seed) if kernel else np.eye(3)
    seen, full, target = ((extract_patch_features(each, kernel or 1, q)) for each in (x, whole, style))
    mean, deviation = compute_channel_moments(target)
    done = normalize(seen[None], INSTANCE_NORM, eps, deviation, mean)
    y = rebuild_picture(done.y[0], kernel or 1, q)
    unit = float(deviation.max())

    def gap(x: np.ndarray) -> float:
        """Return the largest difference of the channels' statistics from the style's."""
        return (
            float(max(np.abs(a - b).max() for a, b in zip(compute_channel_moments(x), (mean, deviation), strict=True)))
            / unit
        )

    seen_gap = gap(extract_patch_features(y, kernel or 1, q))
    apart = float(np.abs(done.xhat - normalize(full[None], INSTANCE_NORM, eps).xhat).max())
    return RestyledPhoto(
        x, style, rebuild_picture(done.xhat[0], kernel or 1, q), y, gap(done.y[0]), seen_gap, apart, seen.shape[-1]
    )
