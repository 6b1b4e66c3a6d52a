"""Picture of a change: four images, or the weights of four neurons, of the network and of its twin."""

from html import escape

import numpy as np

from normviz.charts.common_charts import encode_data_url
from normviz.core.transformations import Transformation
from normviz.topics.table1.cases import UNIT_WORDS
from normviz.train.problem import make_changed_samples
from normviz.train.setting import Setting


def render_change_picture(change: Transformation, setting: Setting, sign: str) -> str:
    """Return a picture of a transformation as HTML: grey squares before and after it.

    Between them is what is added. Pink frames mark changed squares. `sign`: the change, such as "× 3".
    """
    before, after = make_changed_samples(setting, change)
    largest, signed = float(np.abs([before, after]).max()) or 1.0, min(before.min(), after.min()) < 0
    whats = f"the weights of a {UNIT_WORDS[setting.layer]}" if change.on == "weights" else "an image of the batch"
    noun, pink = ("weights" if change.on == "weights" else "images"), "" if change.factor is None else f"pink: {sign}"
    alt = f"Two rows of four squares, each {whats}: those of the network above, those of the twin, {sign}, below."
    rows = [
        f'<div class="row"><b>{name}<small>{note}</small></b>'
        f"{''.join(_format_picture_html(each, mark, largest, signed) for each, mark in squares)}</div>"
        for name, note, squares in (
            ("network", noun, [(each, False) for each in before]),
            *([("+ τ", "", [(each, False) for each in after - before])] if change.factor is None else []),
            ("twin", pink, [(new, not np.array_equal(old, new)) for old, new in zip(before, after, strict=True)]),
        )
    ]
    return f'<div class="nv-change" role="img" aria-label="{escape(alt)}">{"".join(rows)}</div>'


def _format_picture_html(values: np.ndarray, marked: bool, largest: float, signed: bool) -> str:
    """Return one picture as HTML, in greys up to `largest`, from -`largest` if `signed`, with a frame if `marked`."""
    share = np.sign(values) * np.abs(values / largest) ** 0.5  # an image a tenth as bright is still visible
    shades = np.clip(255 * ((share + 1) / 2 if signed else share), 0, 255).astype(np.uint8)
    return f'<img alt="" src="{encode_data_url(shades)}"{" class=changed" if marked else ""}>'
