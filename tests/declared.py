"""Everything that is declared in the app: the settings of what is computed, and the pages that build on them."""

import pytest

from normviz.core.settings import get_declarations
from normviz.topics.gradients import state as gradients
from normviz.topics.running import state as running
from normviz.topics.running import stream
from normviz.topics.table1 import state as table1
from normviz.topics.weights import descent
from normviz.topics.weights import state as weights
from normviz.topics.why import saturation
from normviz.topics.why import state as why
from normviz.train import setting as networks

PAGES = {"table1": table1, "gradients": gradients, "running": running, "weights": weights, "why": why}
KINDS = {
    "networks": networks.Setting,
    "stream": stream.Setting,
    "descent": descent.Setting,
    "saturation": saturation.Setting,
} | {f"page {name}": page.Page for name, page in PAGES.items()}
DECLARED = [(kind, each) for kind in KINDS.values() for each in get_declarations(kind).values()]

EVERY_KIND = pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
EVERY_PAGE = pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
EVERY_DECLARATION = pytest.mark.parametrize(
    ("kind", "declared"), DECLARED, ids=[f"{kind.__module__}.{kind.__name__}.{each.name}" for kind, each in DECLARED]
)
