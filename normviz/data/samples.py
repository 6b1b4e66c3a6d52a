"""Sample tensors by seed: noise, noise with visible differences, handwritten digits, photographs.

A larger batch appends examples and keeps those of a smaller one: values of examples and of channels have streams of
random numbers of their own.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import index_by_key
from normviz.data.digits import find_sklearn_data, load_digits


@dataclass(frozen=True)
class Sample:
    """Kind of sample data: its key in links, its name, and the function (shape, seed) -> float64 array."""

    key: str
    name: str
    about: str
    make: Callable[[Shape, int], np.ndarray]


def sample_normal(shape: Shape, seed: int) -> np.ndarray:
    """Sample independent standard normal numbers, an array of this shape."""
    return np.random.default_rng(seed).standard_normal(shape)


def sample_uneven(shape: Shape, seed: int) -> np.ndarray:
    """Sample normal numbers whose mean and scale differ between examples and, more so, between channels."""
    rng = np.random.default_rng(seed)
    of_examples, of_channels = rng.spawn(2)
    noise = rng.standard_normal(shape)
    examples = of_examples.uniform(-1, 1, (shape[0], 2, 1, 1, 1))
    channels = of_channels.uniform(-1, 1, (2, 1, 1, 1, shape[3]))
    scale = np.exp2(examples[:, 0] + 1.5 * channels[0])
    return scale * noise + examples[:, 1] + 3 * channels[1]


def sample_padded(shape: Shape, seed: int) -> np.ndarray:
    """Sample uneven noise in which every other example, as the first, is padded with zeros at the end of H."""
    x = sample_uneven(shape, seed)
    x[::2, shape[1] - shape[1] // 3 :] = 0
    return x


def sample_digits(shape: Shape, seed: int) -> np.ndarray:
    """Sample handwritten digits in 0..1, one per example, each in a random tint.

    With one channel they are grey, as scanned. Other sizes than 8 × 8 are interpolated.
    """
    examples, height, width, channels = shape
    rng = np.random.default_rng(seed)
    images = _sample_digit_images(examples, height, width, rng)
    (of_tints,) = rng.spawn(1)
    tint = of_tints.uniform(0.25, 1, (examples, 1, 1, channels)) if channels > 1 else 1.0
    return images[..., None] * tint


def sample_digit_features(shape: Shape, seed: int) -> np.ndarray:
    """Sample feature maps of digits: C random 3 × 3 filters (variance 2/9, zero padding) on each image."""
    examples, height, width, channels = shape
    rng = np.random.default_rng(seed)
    images = np.pad(_sample_digit_images(examples, height, width, rng), ((0, 0), (1, 1), (1, 1)))
    (of_filters,) = rng.spawn(1)
    filters = of_filters.normal(0, (2 / 9) ** 0.5, (3, 3, channels))
    patches = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    return np.einsum("nhwij,ijc->nhwc", patches, filters)


def sample_photographs(shape: Shape, seed: int) -> np.ndarray:
    """Return two scikit-learn photographs in turn, in 0..1: in colour for 3 channels, grey for one.

    With other numbers of channels they are tinted like the digits.
    """
    examples, height, width, channels = shape
    rng = np.random.default_rng(seed)
    pictures = np.stack([_load_photograph(name, height, width) for name in ("china.jpg", "flower.jpg")])
    x = pictures[(np.arange(examples) + seed) % 2]
    if channels == 3:
        return x
    tint = rng.uniform(0.25, 1, (examples, 1, 1, channels)) if channels > 1 else 1.0
    return x.mean(axis=3, keepdims=True) * tint


SAMPLES: dict[str, Sample] = index_by_key(
    Sample("normal", "Normal noise", "independent standard normal numbers", sample_normal),
    Sample("uneven", "Uneven noise", "noise whose mean and scale differ by example and by channel", sample_uneven),
    Sample("padded", "Padded sequences", "uneven noise; in every other example, zeros at the end of H", sample_padded),
    Sample("digits", "Handwritten digits", "scanned digits, each in a colour of its own", sample_digits),
    Sample("photo", "Photographs", "two photographs, in colour where there are 3 channels", sample_photographs),
    Sample("features", "Feature maps of digits", "random 3 × 3 filters over scanned digits", sample_digit_features),
)
"""Every kind of data by key, in the order in which the app offers them."""


def _sample_digit_images(examples: int, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Sample grey digits in 0..1, (examples, height, width)."""
    from PIL import Image  # imported here: noise needs no pictures

    images, _ = load_digits()
    chosen = rng.integers(0, len(images), examples)
    if (height, width) == images.shape[1:]:
        return images[chosen]
    drawn, again = np.unique(chosen, return_inverse=True)  # of 65,536 examples, each digit is resized once
    sized = (
        Image.fromarray(i.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR) for i in images[drawn]
    )
    return np.stack([np.asarray(image, dtype=np.float64) for image in sized])[again]


def _load_photograph(name: str, height: int, width: int) -> np.ndarray:
    """Load a photograph of scikit-learn as (height, width, 3) in 0..1, cropped to these proportions."""
    from PIL import Image, ImageOps

    with Image.open(find_sklearn_data() / "images" / name) as image:
        fitted = ImageOps.fit(image.convert("RGB"), (width, height), Image.Resampling.BOX)
    return np.asarray(fitted, dtype=np.float64) / 255
