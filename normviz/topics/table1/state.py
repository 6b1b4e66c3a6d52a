"""Page values of Table 1, and the schemes and the setting that they select."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from normviz.core import settings
from normviz.core.fields import find_divisors
from normviz.core.registry import SCHEMES
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.train.setting import Setting
from normviz.ui import custom
from normviz.ui.custom import MAX_RADIUS, SIZE_NAMES
from normviz.ui.link import View, create_params
from normviz.ui.scheme import is_relevant_to_any

PAGE = "table"
PREFIX = PAGE + " "

FIRST_ROWS = ("none", *PAPER_TABLE)
"""Keys of the rows of the first view: no normalization, for comparison, and the paper's three."""

ROW_ORDER = (*FIRST_ROWS, *(key for key in SCHEMES if key not in FIRST_ROWS))
"""Keys of all possible rows, in the order of the choice."""

PANELS = {
    "changed": "The case only",
    "script": "PyTorch script",
    "eps": "Effect of ε, forward",
    "training": "Effect of ε, training",
    "delta": "Effect of δ",
    "numbers": "All numbers",
}
"""Titles of the panels below the case; only the open one is computed."""

CASE_PANELS = ("changed", "script")
"""Panels that show no answer of another case."""

FOLLOW_LABELS = {
    key: f"Re-scaled weights: learning rate × {power}"
    for key, power in (("sgd", "δ²"), ("momentum", "δ²"), ("adam", "δ"))
}
"""Labels, by optimizer, of the learning rate that keeps the twins of re-scaled weights together."""

RATE_EXPLANATION = (
    "If a scheme cancels δ, weights δ times as large get gradients 1/δ times as large, but must move δ times as far to "
    "compute the same as the original. So the learning rate is multiplied by δ². With Adam it is multiplied by δ, "
    "since the size of Adam's steps does not depend on the size of the gradient."
)
"""Reason of the learning rates of `FOLLOW_LABELS`."""


def _fit_cell(given: Any, view: settings.EarlierValues) -> str:
    scheme, _, change = str(given).partition(".")
    rows = view["schemes"] or [ROW_ORDER[0]]
    change = settings.Choice("", tuple(TRANSFORMATIONS)).find_nearest_value(change, view)
    return f"{scheme if scheme in rows else rows[0]}.{change}"


@dataclass(frozen=True)
class Page(Setting):
    """Values of the page's link: a setting, the rows, and the open cell and panel.

    The defaults of δ, τ and batch size make the losses of twins that learn differently part visibly on a linear axis,
    by at least 12% of it in the first view.
    """

    delta: float = settings.replace_default(Setting.delta, 10.0)
    shift: float = settings.replace_default(Setting.shift, 2.0)
    batch: int = settings.replace_default(Setting.batch, 16)
    schemes: Sequence[str] = settings.multiple_choice(
        FIRST_ROWS, {key: SCHEMES[key].label for key in ROW_ORDER}, label="Rows"
    )
    follow: bool = settings.switch(
        True, label=settings.DependentValue("optimizer", FOLLOW_LABELS), help=RATE_EXPLANATION
    )
    groups: int = settings.number_choice(2, lambda given: find_divisors(given["width"]), label="Groups G")
    radius: int = settings.integer(2, 0, MAX_RADIUS, label="Radius R of the windows", control="slider")
    cell: str = settings.value("batch.dataset-rescaling", _fit_cell)
    panel: str = settings.choice("changed", PANELS)
    reveal: bool = settings.switch(False)


def get_layer_lengths(view: View) -> dict[str, int]:
    """Return the length of each axis of the first layer's pre-activations, by the axis's name in links."""
    setting = Setting(layer=view["layer"], batch=view["batch"], width=view["width"], depth=view["depth"])
    return dict(zip(SIZE_NAMES, setting.shapes[0], strict=True))


PARAMS = (*create_params(Page, PREFIX), *custom.create_custom_params(get_layer_lengths, PREFIX))


def is_relevant(view: View, name: str) -> bool:
    """Return True if a value matters to the shown rows; links and controls omit irrelevant values."""
    return is_relevant_to_any(view["schemes"], name)


def build_table_setting(view: View) -> Setting:
    """Return the training setting of the page's values. Raises InvalidInput, as for δ < 0."""
    return settings.build_settings(Setting, view)
