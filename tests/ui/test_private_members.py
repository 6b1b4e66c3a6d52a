"""One module of normviz/web knows Plotly's private members, and no other one names them."""

import re
from importlib.resources import files

import pytest

from normviz.web.modules import MODULE_SOURCES

ADAPTER = "plotly_internals.js"
MEMBERS = [
    "_fullData",
    "_fullLayout",
    "_scene",
    "cameraParams",
    "dataScale",
    "getAspectratio",
    "glplot",
    "l2p",
    "mouseListener",
    "pickSlots",
    "svgContainer",
    "trianglePositions",
    "triangleUVs",
]
"""The members that the adapter names. Its methods `render`, `update`, `add` and `remove` have common names."""
NAME = re.compile(r"(?<![\w$#])[A-Za-z_]\w*")
PLOTLY_JS = files("plotly").joinpath("package_data", "plotly.min.js")
UNDERSCORED = set(re.findall(r"\._[A-Za-z]\w*", PLOTLY_JS.read_text()))
"""The members in plotly.js that begin with an underscore, each behind its dot."""


def names_private(text: str) -> list[str]:
    """Return the private members that a module names, in its code and its comments."""
    return [name for name in NAME.findall(text) if name in MEMBERS or f".{name}" in UNDERSCORED]


@pytest.mark.parametrize("name", sorted(MODULE_SOURCES.keys() - {ADAPTER}))
def test_no_other_module_names_a_private_member(name):
    assert names_private(MODULE_SOURCES[name].decode()) == []


def test_the_adapter_names_every_member_of_the_list_and_no_other_one():
    assert set(names_private(MODULE_SOURCES[ADAPTER].decode())) == set(MEMBERS)


@pytest.mark.parametrize(
    "code",
    [
        "graph._fullLayout",
        "const { _scene } = scene;",
        "graph?._context",
        "graph['_fullData']",
        "scene.glplot.redraw()",
    ],
)
def test_a_private_member_is_found(code):
    assert names_private(code)


@pytest.mark.parametrize(
    "code", ["(_, row) => row", "next(position, _passed)", "graph.data", "is_wide", "getCamera(graph)"]
)
def test_other_names_are_not_private(code):
    assert not names_private(code)
