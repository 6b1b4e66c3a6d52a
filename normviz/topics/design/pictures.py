"""Photographs before and after a change, normalized by five schemes.

The layer is a convolution of 1 × 1. Its four channels are the red, green and blue of the photographs and their mean,
which group norm needs for two groups. So a change of its weights is seen as a change of the photograph.
"""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from normviz.charts.common_charts import encode_data_url
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, Scheme
from normviz.core.tolerances import INVARIANCE_TOLERANCES
from normviz.data.samples import SAMPLES
from normviz.describe.aims import name_field
from normviz.topics.design.questions import BEST_KNOWN

FACTOR, ADDED, COLOUR = 2.0, 0.25, (0.35, 0.2, 0.0, 0.55 / 3)
"""Factor of pictures or weights, constant added to all weights, and (red, green, blue, mean) added to pictures."""

DARKEST, BRIGHTEST = 0.02, 0.45
"""Range of a photograph's values: twice as bright is below white, and no value is 0."""


class PictureChange(NamedTuple):
    """Change of photographs or weights: its name, and the pre-activations (2, H, W, 4) or (1, H, W, 4) after it."""

    name: str
    apply: Callable[[np.ndarray], np.ndarray]


PICTURE_CHANGES = {
    "case-rescaling": PictureChange("twice as bright", lambda x: np.stack([FACTOR * x[0], x[1]])),
    "dataset-rescaling": PictureChange("all twice as bright", lambda x: FACTOR * x),
    "dataset-recentering": PictureChange("orange added to all", lambda x: x + np.array(COLOUR)),
    "independent": PictureChange("alone in the batch", lambda x: x[:1]),
    "weight-matrix-rescaling": PictureChange("weights doubled", lambda x: FACTOR * x),
    "weight-vector-rescaling": PictureChange("weights of red doubled", lambda x: x * np.array([FACTOR, 1.0, 1.0, 1.0])),
    "weight-matrix-recentering": PictureChange("constant added to weights", lambda x: x + ADDED * 3 * x[..., 3:]),
}
"""Changes by the key of a transformation or of a condition."""

FIRST_PICTURE_CHANGE = "case-rescaling"
"""The change of the first picture alone."""


class PicturePair(NamedTuple):
    """A picture before and after a change, (H, W, 4), and whether both are equal up to rounding."""

    before: np.ndarray
    after: np.ndarray
    same: bool


@lru_cache(maxsize=1)
def load_photographs() -> np.ndarray:
    """Load two photographs, darkened, (2, H, W, 4): red, green, blue and their mean."""
    x = DARKEST + (BRIGHTEST - DARKEST) * SAMPLES["photo"].make((2, 92, 144, 3), 0)[::-1]
    return np.concatenate([x, x.mean(-1, keepdims=True)], -1)


def compare_pictures(scheme: str, change: str, index: int = 0) -> PicturePair:
    """Return x̂ of picture `index` before and after a change, at ε = 0; for the scheme "none" the picture itself."""
    x = load_photographs()
    before, after = (
        np.asarray(normalize(each, SCHEMES[scheme], 0.0).xhat)[index] for each in (x, PICTURE_CHANGES[change].apply(x))
    )
    gap = np.abs(after - before).max() / np.abs(before).max()
    return PicturePair(before, after, bool(gap <= INVARIANCE_TOLERANCES["float64"]))


@lru_cache(maxsize=64)
def render_picture_table(changes: Sequence[str]) -> str:
    """Render an HTML table of pictures: one row before any change, then one row for each change.

    Rows of the other picture follow a change of one picture. `changes`: a tuple of keys of `PICTURE_CHANGES`.
    """
    names = (
        "no normalization",
        *(f"{SCHEMES[key].label}<small>{_describe_scope(SCHEMES[key])}</small>" for key in BEST_KNOWN),
    )
    heads = (f'<th scope=col style="order:{place}">{name}</th>' for place, name in enumerate(names, 1))
    rows = [f"<td></td>{''.join(heads)}", _format_picture_row("before", changes[0], 0, False)]
    rows += [_format_picture_row(PICTURE_CHANGES[change].name, change, 0, True) for change in changes]
    if FIRST_PICTURE_CHANGE in changes:
        rows += [
            _format_picture_row(f"other picture, {when}", FIRST_PICTURE_CHANGE, 1, when == "after")
            for when in ("before", "after")
        ]
    return f'<table class="nv-answers">{"".join(f"<tr>{row}</tr>" for row in rows)}</table>'


def _format_picture_row(name: str, change: str, which: int, is_changed: bool) -> str:
    """Return a row of HTML cells: picture `which`, changed or not, without normalization, then by each scheme."""
    cells = [f"<th scope=row>{name}</th>"]
    for place, key in enumerate(("none", *BEST_KNOWN), 1):
        pair = compare_pictures(key, change, which)
        words, sort = ("= the same", "same") if pair.same else ("≠ changed", "changed")
        verdict = f'<b class="{sort}">{words}</b>' if is_changed else ""
        image = _format_image_html(pair.after if is_changed else pair.before, pair.before)
        cells.append(f'<td style="order:{place}" title="{name}">{image}{verdict}</td>')
    return "".join(cells)


def _describe_scope(scheme: Scheme) -> str:
    """Describe what a scheme normalizes: "normalizes each channel"."""
    noun = name_field(scheme.fields[-1], scheme.axes, load_photographs().shape)
    return f"normalizes each {noun}".replace("of every example", "of each picture").replace("example", "picture")


def _format_image_html(values: np.ndarray, scale: np.ndarray) -> str:
    """Return an HTML image of values; black and white are the 1% quantiles of `scale`, or 0 and 1 if it lies there."""
    values, scale = values[..., :3], scale[..., :3]
    is_plain = scale.min() >= 0 and scale.max() <= 1
    low, high = (0.0, 1.0) if is_plain else np.quantile(scale, (0.01, 0.99))
    pixels = np.rint(255 * np.clip((values - low) / (high - low), 0, 1)).astype(np.uint8)
    return f'<img alt="" src="{encode_data_url(pixels, "jpeg")}">'
