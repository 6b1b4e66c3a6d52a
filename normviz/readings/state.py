"""The page on the readings of layer norm: what its link holds."""

from normviz.core.layouts import ALL_LAYOUTS
from normviz.describe.snippets import FRAMEWORKS
from normviz.readings.examples import EXAMPLES
from normviz.ui import looking, scheme, tensor
from normviz.ui.link import Param, View, choice
from normviz.ui.tensor import OWN_DATA, SIZES

PAGE = "readings"
PREFIX = f"{PAGE} "
"""Of the keys that are this page's own; the tensor's follow from page to page."""

SHARED = (*SIZES, "data", "seed", "focus", "eps")
"""What the page has in common with the tensor lab."""

TENSOR = tuple(param for param in (*tensor.PARAMS, *scheme.PARAMS) if param.name in SHARED)
CAMERA = looking.camera(PREFIX)

CODE = {name: name for name in FRAMEWORKS if name != "NumPy"}
"""In which framework a reading is shown."""

GUESS = "guess"
LAYOUT_NAMES = {GUESS: "Any"} | {key: f"({', '.join(key)})" for key in ALL_LAYOUTS}
"""What the axes of one's own arrays are; "Any": all that have as many."""

OWN = "own"
TRY = {key: example.name for key, example in EXAMPLES.items()} | {OWN: "Your own files"}
"""What the detector looks at."""

PARAMS = (
    *TENSOR,
    CAMERA,
    Param(PREFIX + "code", "PyTorch", choice(list(CODE)), label="Framework"),
    Param(PREFIX + "try", next(iter(EXAMPLES)), choice(list(TRY)), label="Try", words=TRY.__getitem__),
    Param(PREFIX + "layout", GUESS, choice(list(LAYOUT_NAMES)), label="Axes", words=LAYOUT_NAMES.__getitem__),
)


def has(view: View, name: str) -> bool:
    """Whether a value means anything in this view."""
    return name != "seed" or view["data"] != OWN_DATA
