"""Photographs before and after a change, normalized by four schemes.

The layer is a convolution of 1 × 1 with the identity as its weights. Its pre-activations are the photographs, so that a
change of its weights is seen as a change of the photograph.
"""

from base64 import b64encode
from collections.abc import Callable, Sequence
from functools import lru_cache
from io import BytesIO
from typing import NamedTuple

import numpy as np

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, Scheme
from normviz.core.tolerances import INVARIANT
from normviz.data.samples import SAMPLES
from normviz.describe.aims import field_noun

SHOWN = ("batch", "layer", "instance", "rms")
"""Keys of the schemes. Group norm needs more channels than red, green and blue."""

SIZE = (108, 144)
"""Height and width of a photograph."""

FACTOR, ADDED, COLOUR = 2.0, 0.25, (0.35, 0.2, 0.0)
"""A factor of pictures or weights; what is added to all weights; and the red, green and blue that are added."""

DARKEST, BRIGHTEST = 0.02, 0.45
"""The values of a photograph, so that twice as bright is still no white, and nothing is 0."""


class Change(NamedTuple):
    """A change of the batch or of the weights.

    Attributes:
        name: what is done to the picture, in a few words.
        apply: (pre-activations (2, H, W, 3)) -> those after the change, of one or two pictures.
    """

    name: str
    apply: Callable[[np.ndarray], np.ndarray]


CHANGES = {
    "case-rescaling": Change("twice as bright", lambda x: np.stack([FACTOR * x[0], x[1]])),
    "dataset-rescaling": Change("all twice as bright", lambda x: FACTOR * x),
    "dataset-recentering": Change("orange added to all", lambda x: x + np.array(COLOUR)),
    "independent": Change("alone in the batch", lambda x: x[:1]),
    "weight-matrix-rescaling": Change("weights doubled", lambda x: x @ (FACTOR * np.eye(3))),
    "weight-vector-rescaling": Change("weights of red doubled", lambda x: x @ np.diag([FACTOR, 1.0, 1.0])),
    "weight-matrix-recentering": Change("constant added to weights", lambda x: x @ (np.eye(3) + ADDED)),
}
"""By the key of a transformation or of a condition."""


class Pair(NamedTuple):
    """The first picture of the batch before and after a change, (H, W, 3), and if both are equal up to rounding."""

    before: np.ndarray
    after: np.ndarray
    same: bool


@lru_cache(maxsize=1)
def photographs() -> np.ndarray:
    """Return two dark photographs, (2, H, W, 3); the first is the one that is shown."""
    x = SAMPLES["photo"].make((2, *SIZE, 3), 0)[::-1]
    return DARKEST + (BRIGHTEST - DARKEST) * x


def compare_pictures(scheme: str, change: str) -> Pair:
    """Return x̂ of the first picture before and after a change, at ε = 0; scheme "none": the picture itself."""
    x = photographs()
    before, after = (
        np.asarray(normalize(each, SCHEMES[scheme], 0.0).xhat)[0] for each in (x, CHANGES[change].apply(x))
    )
    gap = np.abs(after - before).max() / np.abs(before).max()
    return Pair(before, after, bool(gap <= INVARIANT["float64"]))


@lru_cache(maxsize=64)
def draw_table(changes: Sequence[str]) -> str:
    """Return the HTML of a table: a row of pictures before, and one after each change. Styles: style.css.

    `changes`: a tuple of keys of `CHANGES`.
    """
    keys = ("none", *SHOWN)
    pairs = {key: [compare_pictures(key, change) for change in changes] for key in keys}
    names = ("no normalization", *(f"{SCHEMES[key].label}<small>{_per(SCHEMES[key])}</small>" for key in SHOWN))
    rows = [
        "".join(f"<th scope=col>{name}</th>" for name in ("", *names)),
        "<th scope=row>before</th>"
        + "".join(f"<td>{_image(each[0].before, each[0].before)}</td>" for each in pairs.values()),
    ]
    for number, change in enumerate(changes):
        cells = [f"<th scope=row>{CHANGES[change].name}</th>"]
        for key, each in pairs.items():
            pair = each[number]
            words = {True: "= the same", False: "≠ changed"}[pair.same]
            verdict = f'<b class="{"same" if pair.same else "changed"}">{words}</b>' if key != "none" else ""
            cells.append(f"<td>{_image(pair.after, pair.before)}{verdict}</td>")
        rows.append("".join(cells))
    return f'<table class="nv-answers">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _per(scheme: Scheme) -> str:
    """Return over what a scheme normalizes: "normalizes each channel"."""
    noun = field_noun(scheme.fields[-1], scheme.axes, photographs().shape)
    return f"normalizes each {noun}".replace("of every example", "of each picture").replace("example", "picture")


def _image(values: np.ndarray, scale: np.ndarray) -> str:
    """Return a picture as HTML; black and white are the 1% darkest and brightest of `scale`, or 0 and 1."""
    from PIL import Image  # imported here: the page's other parts need no pictures

    is_plain = scale.min() >= 0 and scale.max() <= 1
    low, high = (0.0, 1.0) if is_plain else np.quantile(scale, (0.01, 0.99))
    pixels = np.rint(255 * np.clip((values - low) / (high - low), 0, 1)).astype(np.uint8)
    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, "jpeg", quality=88)
    return f'<img alt="" src="data:image/jpeg;base64,{b64encode(buffer.getvalue()).decode()}">'
