"""One module of normviz/web knows Plotly's private members, and no other one names them."""

import re

import pytest

from normviz.web.modules import MODULES

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
]
"""The members that the adapter names. Its methods `render`, `update`, `add` and `remove` have common names."""
PRIVATE = re.compile(rf"(?<![\w$#])_[A-Za-z]\w*|\b(?:{'|'.join(MEMBERS)})\b")
"""A name that begins with an underscore, or a member without one."""


def names_private(text: str) -> list[str]:
    """Return the private members that a module names, in its code and its comments."""
    return PRIVATE.findall(text)


@pytest.mark.parametrize("name", sorted(MODULES.keys() - {ADAPTER}))
def test_no_other_module_names_a_private_member(name):
    assert names_private(MODULES[name].decode()) == []


def test_the_adapter_names_every_member_of_the_list_and_no_other_one():
    assert set(names_private(MODULES[ADAPTER].decode())) == set(MEMBERS)


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


@pytest.mark.parametrize("code", ["(_, row) => row", "graph.data", "is_wide", "getCamera(graph)"])
def test_other_names_are_not_private(code):
    assert not names_private(code)
