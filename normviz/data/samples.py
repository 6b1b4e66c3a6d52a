"""Tensors to look at: seeded noise, noise with visible differences, handwritten digits, and one's own files."""

import io
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from math import prod

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape, check_shape
from normviz.data.digits import load_digits, sklearn_data

MAX_UPLOAD_BYTES = 5 * 2**20


@dataclass(frozen=True)
class Sample:
    """A kind of data: its key in links, its name, and the function (shape, seed) -> float64 array."""

    key: str
    name: str
    about: str
    make: Callable[[Shape, int], np.ndarray]


def normal(shape: Shape, seed: int) -> np.ndarray:
    """Independent standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)


def uneven(shape: Shape, seed: int) -> np.ndarray:
    """Normal numbers whose mean and scale differ from case to case and, more so, from channel to channel."""
    rng = np.random.default_rng(seed)
    noise = rng.standard_normal(shape)
    cases, channels = (shape[0], 1, 1, 1), (1, 1, 1, shape[3])
    scale = np.exp2(rng.uniform(-1, 1, cases) + rng.uniform(-1.5, 1.5, channels))
    return scale * noise + rng.uniform(-1, 1, cases) + rng.uniform(-3, 3, channels)


def digits(shape: Shape, seed: int) -> np.ndarray:
    """Handwritten digits (scikit-learn's 8 × 8, in 0..1), one a case, each in a colour of its own over the channels.

    One channel is the plain grey image. Other sizes than 8 × 8 are interpolated.
    """
    cases, height, width, channels = shape
    rng = np.random.default_rng(seed)
    images = _digit_images(cases, height, width, rng)
    tint = rng.uniform(0.25, 1, (cases, 1, 1, channels)) if channels > 1 else 1.0
    return images[..., None] * tint


def digit_features(shape: Shape, seed: int) -> np.ndarray:
    """The feature maps of handwritten digits: C random 3 × 3 filters (variance 2/9, zero padding) over each image."""
    cases, height, width, channels = shape
    rng = np.random.default_rng(seed)
    images = np.pad(_digit_images(cases, height, width, rng), ((0, 0), (1, 1), (1, 1)))
    filters = rng.normal(0, (2 / 9) ** 0.5, (3, 3, channels))
    patches = np.lib.stride_tricks.sliding_window_view(images, (3, 3), axis=(1, 2))
    return np.einsum("nhwij,ijc->nhwc", patches, filters)


def photograph(shape: Shape, seed: int) -> np.ndarray:
    """Two photographs (scikit-learn's china and flower, 0..1) in turn: grey, or in colour where there are 3 channels.

    Other numbers of channels are tinted like the digits.
    """
    cases, height, width, channels = shape
    rng = np.random.default_rng(seed)
    pictures = np.stack([_photograph(name, height, width) for name in ("china.jpg", "flower.jpg")])
    x = pictures[(np.arange(cases) + seed) % 2]
    if channels == 3:
        return x
    tint = rng.uniform(0.25, 1, (cases, 1, 1, channels)) if channels > 1 else 1.0
    return x.mean(axis=3, keepdims=True) * tint


SAMPLES: dict[str, Sample] = {
    sample.key: sample
    for sample in (
        Sample("normal", "Normal noise", "independent standard normal numbers", normal),
        Sample("uneven", "Uneven noise", "noise whose mean and scale differ by case and by channel", uneven),
        Sample("digits", "Handwritten digits", "scanned digits, each in a colour of its own", digits),
        Sample("photo", "Photographs", "two photographs, in colour where there are 3 channels", photograph),
        Sample("features", "Feature maps of digits", "random 3 × 3 filters over scanned digits", digit_features),
    )
}
"""Every kind of data by key, in the order in which the app offers them."""


def read_upload(name: str, content: bytes) -> np.ndarray:
    """Read a .npy, .csv or image file as a (N, H, W, C) float64 array.

    Fewer axes are filled up: (C) is one case, (N, C) a dense layer, (B, T, C) tokens, with H = tokens. Images
    become one case of H × W × 3 (or 1 for grey) in 0..1. Numbers may be NaN or infinite.

    Raises:
        InvalidInput: too large, not what its name says, an object or complex array, no or too many axes.
    """
    if len(content) > MAX_UPLOAD_BYTES:
        raise InvalidInput(
            f"{name} is {len(content) / 2**20:.1f} MB; files up to {MAX_UPLOAD_BYTES // 2**20} MB are read."
        )
    suffix = name.rsplit(".", 1)[-1].lower()
    readers = {"npy": read_npy, "csv": _read_csv, "png": _read_image, "jpg": _read_image, "jpeg": _read_image}
    if suffix not in readers:
        raise InvalidInput(f"{name} is not a .npy, .csv, .png or .jpg file.")
    return as_tensor(readers[suffix](content), name)


def as_tensor(array: np.ndarray, name: str = "the array") -> np.ndarray:
    """A real array of one to four axes as float (N, H, W, C); float32 stays, everything else becomes float64."""
    if array.dtype.kind not in "fiub":
        raise InvalidInput(f"{name} holds {array.dtype} values; real numbers are needed.")
    if not 1 <= array.ndim <= 4:
        raise InvalidInput(f"{name} has {array.ndim} axes; (C), (N, C), (B, T, C) or (N, H, W, C) are read.")
    before_channels = (*array.shape[:-1], 1, 1, 1)[:3]
    array = array.reshape(check_shape((*before_channels, array.shape[-1])))
    with np.errstate(over="ignore"):  # what float64 cannot hold becomes infinite
        return array if array.dtype == np.float32 else array.astype(np.float64)


def read_npy(content: bytes) -> np.ndarray:
    """Read a .npy file without unpickling, and without believing a header that promises more than there is.

    Raises:
        InvalidInput: not a .npy file, an object array, or a file that is cut off.
    """
    stream = io.BytesIO(content)
    with _any_failure_told_as("this is not a .npy file that NumPy wrote; save one with numpy.save."):
        version = np.lib.format.read_magic(stream)
        read_header = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
        shape, _, dtype = read_header(stream)
        if dtype.hasobject:
            raise InvalidInput("this file holds Python objects, which are not read; save an array of real numbers.")
        promised, there = prod(shape) * dtype.itemsize, len(content) - stream.tell()
        if promised > there:
            raise InvalidInput(
                f"the file is cut off: its header promises {promised:,} bytes of numbers, {there:,} are there."
            )
        stream.seek(0)
        return np.load(stream, allow_pickle=False)


def _read_csv(content: bytes) -> np.ndarray:
    """Rows of numbers with commas; empty lines and what stands behind a # are left out."""
    try:
        lines = content.decode("utf-8-sig").splitlines()
    except UnicodeDecodeError as error:
        raise InvalidInput("the .csv file is not a table of numbers with commas, in UTF-8.") from error
    texts = ((row, line.partition("#")[0]) for row, line in enumerate(lines, 1))
    rows = {
        row: [_number(cell, row, column) for column, cell in enumerate(text.split(","), 1)]
        for row, text in texts
        if text.strip()
    }
    if not rows:
        raise InvalidInput("the .csv file holds no numbers.")
    length = len(next(iter(rows.values())))
    for row, numbers in rows.items():
        if len(numbers) != length:
            raise InvalidInput(f"row {row} of the .csv file has {len(numbers)} numbers, the first one {length}.")
    return np.array(list(rows.values()))


def _number(cell: str, row: int, column: int) -> float:
    try:
        return float(cell)
    except ValueError as error:
        shown = repr(cell.strip()[:50])
        raise InvalidInput(f"row {row}, column {column} of the .csv file is {shown}, which is not a number.") from error


def _read_image(content: bytes) -> np.ndarray:
    from PIL import Image  # imported here: noise needs no Pillow

    with (
        _any_failure_told_as("the file is not a whole .png or .jpg picture."),
        Image.open(io.BytesIO(content), formats=("PNG", "JPEG")) as image,
    ):
        if prod(image.size) > 2**24:
            raise InvalidInput(f"the picture has {image.width} × {image.height} pixels; up to 16 million are read.")
        if image.mode.startswith("I"):  # grey of 16 bits, which Pillow would clip to 8
            pixels = np.asarray(image, dtype=np.float64) / (2**16 - 1)
        else:
            grey = image.mode in ("1", "L", "LA")
            pixels = np.asarray(image.convert("L" if grey else "RGB"), dtype=np.float64) / 255
    return pixels.reshape(1, *pixels.shape[:2], -1)


@contextmanager
def _any_failure_told_as(message: str) -> Iterator[None]:
    """Tell a parser's failure in one line: on spoilt bytes NumPy and Pillow raise whatever Python itself can raise."""
    try:
        yield
    except InvalidInput:
        raise
    except Exception as error:
        raise InvalidInput(message) from error


def shrink_image(x: np.ndarray, limit: int) -> np.ndarray:
    """An (N, H, W, C) array with its positions averaged over k × k blocks, the smallest k that fits into the limit."""
    k = 1
    while x.shape[0] * x.shape[3] * (x.shape[1] // k) * (x.shape[2] // k) > limit and k < min(x.shape[1:3]):
        k += 1
    height, width = x.shape[1] // k * k, x.shape[2] // k * k
    blocks = x[:, :height, :width].reshape(x.shape[0], height // k, k, width // k, k, x.shape[3])
    return blocks.mean(axis=(2, 4))


def _digit_images(cases: int, height: int, width: int, rng: np.random.Generator) -> np.ndarray:
    """Grey digits in 0..1, shape (cases, height, width)."""
    from PIL import Image  # imported here: noise needs no pictures

    images, _ = load_digits()
    chosen = images[rng.integers(0, len(images), cases)]
    if (height, width) == chosen.shape[1:]:
        return chosen
    resized = (Image.fromarray(i.astype(np.float32)).resize((width, height), Image.Resampling.BILINEAR) for i in chosen)
    return np.stack([np.asarray(image, dtype=np.float64) for image in resized])


def _photograph(name: str, height: int, width: int) -> np.ndarray:
    """A photograph that comes with scikit-learn, (height, width, 3) in 0..1, its middle cut to these proportions."""
    from PIL import Image, ImageOps

    with Image.open(sklearn_data() / "images" / name) as image:
        fitted = ImageOps.fit(image.convert("RGB"), (width, height), Image.Resampling.BOX)
    return np.asarray(fitted, dtype=np.float64) / 255
