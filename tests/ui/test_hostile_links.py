"""Links of strangers: nothing in them becomes markup on any page, and names that no page knows are spoken of."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from lab_page import replaced, said, sound
from streamlit.testing.v1 import AppTest
from unpacked import shown
from wandering import ROOT, STATES, TYPED

from normviz.topics.claims.claim_list import CLAIMS
from normviz.ui.link import PRESENTING_PARAM, clean_values
from normviz.ui.unknown_names import LONGEST, describe_unknown_names, find_unknown_names, list_known_names

HOSTILE = "![](http://foreign/t)"
"""As Markdown a picture of another host; no value of a page is called so."""


def opened(page, link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=600).switch_page(f"pages/{page}.py")
    at.query_params.update(link)
    return sound(at.run())


def elements(at):
    """All that is on a page, by the kind of each, also the labels of what holds other elements."""
    return [(node.type, node.proto) for part in (at.main, at.sidebar) for node in part if node.proto is not None]


def told(kind, proto):
    """What is sent of an element; of a text field without the text, which the browser shows as it is."""
    if kind == "bidi_component":
        return repr(shown(proto.bytes))
    if kind == "text_input":
        return proto.label + proto.help + proto.placeholder
    return proto.SerializeToString().decode(errors="replace")


@pytest.mark.parametrize("page", STATES)
def test_nothing_of_a_link_becomes_markup(page):
    link = {param.name: HOSTILE for param in STATES[page].PARAMS} | {HOSTILE: HOSTILE} | TYPED.get(page, {})
    at = opened(page, link)
    assert replaced(at), "the page says what it has replaced"
    assert all(r"!\[\](http" in line for line in replaced(at))
    assert r"“!\[\](http" in said(at)
    found = elements(at)
    assert {"markdown", "bidi_component"} <= {kind for kind, _ in found}
    assert [kind for kind, proto in found if "](http://foreign" in told(kind, proto)] == []


@pytest.mark.parametrize("page", STATES)
def test_a_name_that_no_page_knows_is_spoken_of(page):
    name = next(param.name for param in STATES[page].PARAMS if len(param.name) > 3)
    misspelt = name[:-2] + name[-1] + name[-2]
    at = opened(page, {misspelt: "1", "experiment": "masking", "utm_source": "course", "embed": "true"})
    ignored = re.findall(r"“([^“”]*)” in the link is ignored", said(at))
    assert ignored == [misspelt.replace("_", r"\_"), "experiment"]
    assert f"Did you mean “{name}”?".replace("_", r"\_") in said(at)
    at = sound(at.button(key="replaced read").click().run())
    assert "in the link is ignored" not in said(at)


def test_what_another_page_or_other_software_calls_so_is_no_mistake():
    link = dict.fromkeys(list_known_names(), "1") | dict.fromkeys(
        ("utm_campaign", "fbclid", "gclid", "embed_options"), "1"
    )
    assert find_unknown_names(link) == []
    assert find_unknown_names(["present"], ["present"]) == []
    assert find_unknown_names([*link, "schme"]) == ["schme"]


def test_many_and_long_names_are_bounded():
    lines = describe_unknown_names(["x" * 100_000, "n\n", *map(str, range(50))], ["n"])
    assert [len(line) <= LONGEST + 60 for line in lines] == [True] * 4
    assert lines[-1] == "So are 49 more."


@pytest.mark.parametrize(("other", "is_meant"), [("schemes", True), ("gan_schemes", False)])
def test_a_name_of_another_view_is_suggested_where_it_is_much_alike(other, is_meant):
    (line,) = describe_unknown_names(["schme"], ["seed"], [other])
    assert ("Did you mean" in line) == is_meant


@pytest.mark.parametrize("page", STATES)
def test_a_valid_link_is_not_spoken_of(page):
    link = {param.name: "1" for state in STATES.values() for param in state.PARAMS}
    own = {param.name for param in STATES[page].PARAMS}
    at = opened(page, {name: text for name, text in link.items() if name not in own} | {"present": "1"})
    assert "in the link" not in said(at)
    assert replaced(at) == []
    for each in at.get("page_link"):
        assert spoken_of(each.proto.page, each.proto.query_string) == []


@pytest.mark.parametrize("claim", CLAIMS.values(), ids=CLAIMS)
def test_no_link_of_a_claim_is_spoken_of(claim):
    address = urlsplit(claim.see)
    assert spoken_of(address.path, address.query) == []


def spoken_of(path, query):
    """The names in a link that its page does not have, or whose values it replaces."""
    params = (*STATES[path.rpartition("/")[2] or "tensor_lab"].PARAMS, PRESENTING_PARAM)
    link = dict(parse_qsl(query.lstrip("?"), keep_blank_values=True, strict_parsing=bool(query)))
    return [*(link.keys() - {param.name for param in params}), *clean_values(params, link)[1]]


def test_a_wrong_link_of_the_app_would_be_found():
    assert spoken_of("/compare", "schemes=layer&sigma=1") == ["sigma"]
    assert spoken_of("/", "scheme=layer&eps=nan") == ["eps"]


FILE = HOSTILE.replace("/", "\u2215")  # no file name has a slash


@pytest.mark.parametrize(
    ("page", "link", "key", "ending", "content", "quoted"),
    [
        ("tensor_lab", {"data": "own"}, "upload", ".csv", b"1,2\n3,4\n", r"!\[\](http"),
        ("tensor_lab", {"data": "own"}, "upload", ".csv", f"1,2\n3,{HOSTILE}\n".encode(), r"!\[\](http"),
        ("divisive", {"data": "own"}, "upload", ".csv", b"1,2\n3,4\n", r"!\[\](http"),
        ("identities", {"panel": "detect", "try": "own"}, "identities upload", ".npz", b"no numbers", ""),
        ("gradients", {"show": "answer"}, "gradients upload", ".npy", b"no numbers", r"!\[\](http"),
        ("model", {"source": "own"}, "model upload", ".npz", b"no numbers", ""),
        ("model", {"source": "own"}, "model upload", ".json", b'{"layers": [], "findings": [], "notes": ["a"]}', "a"),
    ],
)
def test_nothing_of_a_file_becomes_markup(page, link, key, ending, content, quoted):
    at = opened(page, link)
    uploader, file = at.file_uploader(key=key), (FILE + ending, content, "application/octet-stream")
    uploader.set_value([file] if uploader.proto.multiple_files else file)
    at = sound(at.run())
    assert any(quoted in each.value for each in [*at.error, *at.caption])
    assert [kind for kind, proto in elements(at) if "](http:" in told(kind, proto)] == []
