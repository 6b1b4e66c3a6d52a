"""The restrictions in a link: the one figure that it shows, and what it hides, locks and covers.

They hold until the address is edited: nothing on the page takes them back.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from normviz.core.settings import Choice, Declaration, MultipleChoice, Switch
from normviz.ui.page_parts import get_page_parts, list_figures


class HiddenPart(NamedTuple):
    """A part of every page that a link can hide: its label in the Share dialog, and its CSS selectors."""

    label: str
    selectors: str


_HEADLINE = ".stElementContainer:has(> .stMarkdown :is(h2, h3)):not(:is(.st-key-cover, .st-key-question) *)"
"""Selector of a line that says what a figure shows, which is no question."""

HIDDEN_PARTS = {
    "sidebar": HiddenPart(
        "Sidebar",
        'section[data-testid="stSidebar"], [data-testid="stExpandSidebarButton"], .st-key-at-hand, .st-key-picked, '
        ".st-key-choices",
    ),
    "menu": HiddenPart("Menu", '[data-testid="stHeader"], [data-testid="stPageLink"]'),
    "tabs": HiddenPart("Tabs", '.stTabs [role="tablist"]'),
    "text": HiddenPart(
        "Heading and text",
        ".st-key-story, .st-key-question, .st-key-legend, .st-key-takeaway, .st-key-told, :has(> .st-key-told), "
        ".st-key-said-of-step, "
        ".st-key-case-card .stElementContainer:has(.stMarkdown), "
        ':is(.st-key-work, .st-key-training) > .stElementContainer [data-testid="stCaptionContainer"]',
    ),
    "controls": HiddenPart(
        "Controls on the page",
        ".st-key-settings, .st-key-run, .st-key-mode, .st-key-stages, .st-key-pairs, .st-key-more, .st-key-following, "
        ":has(> .st-key-cases), .st-key-look-menu, .stDownloadButton, .nv-stages, "
        '[class*="st-key-"]:is([class*="-player"], [class*="-place"], [class*="-drag"]), .st-key-pair .stButton, '
        ".nv-under, .nv-plot > .nv-fold, .stMain .stSlider, "
        ':is(.st-key-case-card, .st-key-pair) [data-testid="stCaptionContainer"]',
    ),
    "answer": HiddenPart(
        "Headline and numbers",
        f"{_HEADLINE}, {_HEADLINE} + .stElementContainer:has(> .stMarkdown), .st-key-takeaway .stMarkdown, "
        ".st-key-verdict, .st-key-lead .stMarkdown, .nv-readout, .nv-stages, .nv-labels :is(.nv-note, line), "
        ".nv-hollow, .nv-pairs > div:not(.used), .st-key-batch .traceanswer, .st-key-update, "
        ".stColumn:has(> * > * > .st-key-element)",
    ),
    "first": HiddenPart("First figure", ".st-key-now, :has(> .st-key-case), .stColumn:has(> * > * > .st-key-chain)"),
    "more": HiddenPart(
        "All but the first figure",
        ".st-key-below, .st-key-case .stExpander, .stColumn:has(> * > * > .st-key-element), "
        '[data-testid="stLayoutWrapper"]:has(> :is(.st-key-cubes, .st-key-lead)) ~ *',
    ),
}
"""Parts that a link can hide, by their names in the link."""

LOCK_GROUPS = {"shape": ("n", "h", "w", "c")}
"""Names in a link that lock several values together."""

LOCK_LABELS = {"shape": "Shape", "scheme": "Normalization", "schemes": "Normalizations"}
"""Labels of what is locked whose declaration has none, by its name in the link."""

NEVER_LOCKED = frozenset(
    {"tab", "show", "panel", "focus", "camera", "gaps", "cut", "step", "iteration", "back", "pace", "row", "column"}
    | {"cell", "claim", "open", "reveal", "present"}
)
"""Values that are not settings: what is open, how far it has played, and from where it is seen."""

RESTRICTION_NAMES = ("only", "hide", "lock", "cover")
"""Names of the restrictions in a link."""


MAX_NAMES = 50
"""Most names that are read of a list in a link."""


class KnownNames(MultipleChoice):
    """Declaration of a link value that lists several keys; unknown keys are left out."""

    def find_nearest_value(self, value: Any, given: Mapping[str, Any]) -> list[str]:
        """Return the valid names closest to those in `value`; `given` holds the link's other values."""
        found = []
        for name in (value.split(",") if isinstance(value, str) else value)[:MAX_NAMES]:
            try:
                found += super().find_nearest_value([name], given)
            except ValueError:
                continue
        return list(dict.fromkeys(found))


def declare_restrictions(page: str, names: Iterable[str]) -> dict[str, Declaration]:
    """Return the declarations of a page's restrictions by name; `names` are the page's values.

    >>> declared = declare_restrictions("lab", ["n", "h", "w", "c", "scheme"])
    >>> declared["lock"].find_nearest_value("shape,shceme,<b>", {}), declared["only"].find_nearest_value("cube", {})
    (['shape', 'scheme'], 'cube')
    """
    hidden = {key: part.label for key, part in HIDDEN_PARTS.items()}
    return {
        "only": Choice(
            "", lambda view: ["", *list_figures(page, view)], label="Figure shown alone",
            shown=lambda key: key or "the whole page",
        ),
        "hide": KnownNames((), hidden, label="Hidden"),
        "lock": KnownNames((), {name: name for name in list_lock_names(names)}, label="Locked"),
        "cover": Switch(False, label="Cover"),
    }  # fmt: skip


def list_lock_names(names: Iterable[str]) -> list[str]:
    """List the names that `lock` takes on a page whose values have these names.

    >>> list_lock_names(["n", "h", "w", "c", "scheme", "camera"])
    ['shape', 'scheme']
    """
    own = list(names)
    groups = {group: members for group, members in LOCK_GROUPS.items() if set(members) <= set(own)}
    grouped = {name for members in groups.values() for name in members}
    return [*groups, *(name for name in own if name not in grouped and name not in NEVER_LOCKED)]


def expand_locks(lock: Sequence[str]) -> list[str]:
    """Return the names of the values that are locked, with groups such as "shape" expanded.

    >>> expand_locks(["shape", "scheme"])
    ['n', 'h', 'w', 'c', 'scheme']
    """
    return [name for each in lock for name in LOCK_GROUPS.get(each, (each,))]


def find_covered_figures(page: str, view: Mapping[str, Any], only: str) -> list[str]:
    """Return the keys of the figures hidden until "Show" is pressed: the figure `only` if named, or all in the view."""
    return [only] if only else list(list_figures(page, view))


def build_restriction_style(page: str, only: str, hide: Sequence[str], covered: Sequence[str]) -> str:
    """Build the CSS that shows one figure alone, hides parts of the page, and makes room for the cover.

    >>> build_restriction_style("lab", "", ["menu"], [])
    '[data-testid="stHeader"], [data-testid="stPageLink"] { display: none !important; }'
    """
    parts = dict.fromkeys([*hide, *(("sidebar", "menu", "tabs") if only else ())])
    hidden = [HIDDEN_PARTS[part].selectors for part in parts]
    if "tabs" in parts:
        hidden += [f".st-key-{key}" for key in get_page_parts(page).tabs]
    if only:
        inside = ", ".join(f"{each}, {each} *, :has({each})" for each in (f".st-key-{only}", *_KEPT))
        hidden += [f".stMainBlockContainer {block}:not({inside})" for block in _BLOCKS]
    rules = [f"{', '.join(hidden)} {{ display: none !important; }}"] if hidden else []
    rules += _ALONE if only else []
    if covered:
        keys = ", ".join([*(f".st-key-{key}" for key in covered), ".st-key-below", HIDDEN_PARTS["answer"].selectors])
        rules += [
            f":is({keys}), :is({keys}) * {{ visibility: hidden !important; }}",
            f".st-key-{covered[0]} {{ anchor-name: --nv-covered; min-height: 9rem; }}",
        ]
    return "\n".join(rules)


_BLOCKS = [
    f'[data-testid="{block}"]'
    for block in ("stElementContainer", "stVerticalBlock", "stHorizontalBlock", "stLayoutWrapper", "stColumn", "stTabs")
]
_KEPT = (".st-key-cover", ".st-key-replaced", '[data-testid="stAlertContentError"]')
"""Selectors of what stays beside a figure shown alone: the cover, notes and errors."""

_ALONE = [
    ".stMainBlockContainer { padding: 0.5rem 1rem !important; }",
    ".st-key-cube .nv-graph { height: clamp(14rem, 100vh - 17.5rem, 50rem) !important; }",
]
"""Rules for the page around a figure shown alone, and for the cube, the only figure as high as its window."""
