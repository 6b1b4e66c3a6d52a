"""What the server sends beside Streamlit's own pages."""

import re

import pytest
from starlette.requests import Request

from normviz.ui.server import InjectionMiddleware
from normviz.web.modules import INLINE_FOLDER, MODULE_SOURCES, find_imports
from normviz.web.script_routes import get_module_url, serve_module

PAGE = b"<html>a page</html>"
STYLE_FILES = ("frame.css", "pages.css", "teaching.css", "page_html.css")
INLINE_FILES = (*STYLE_FILES, "history.js", "opening.js", "embedding.js")
OURS = b"".join((INLINE_FOLDER / name).read_bytes() for name in INLINE_FILES)


def answer(accept: str, kind: str) -> tuple[dict[str, str], bytes, dict[str, str]]:
    """What comes back for a request, its headers and its body; and the headers that reach the application."""
    sent, reached = [], {}

    async def app(scope, receive, send):
        reached.update({name.decode(): value.decode() for name, value in scope["headers"]})
        headers = {"content-type": kind, "content-length": str(len(PAGE)), "etag": "1"}
        raw = [(name.encode(), value.encode()) for name, value in headers.items()]
        await send({"type": "http.response.start", "status": 200, "headers": raw})
        await send({"type": "http.response.body", "body": PAGE[:5], "more_body": True})
        await send({"type": "http.response.body", "body": PAGE[5:]})

    async def send(message):
        sent.append(message)

    asked = {"accept": accept, "accept-encoding": "gzip", "if-none-match": "1", "cookie": "a=1"}
    scope = {
        "type": "http",
        "path": "/",
        "method": "GET",
        "headers": [(k.encode(), v.encode()) for k, v in asked.items()],
    }
    with pytest.raises(StopIteration):  # a coroutine that waits for nothing, also where an event loop runs
        InjectionMiddleware(app)(scope, None, send).send(None)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return headers, b"".join(message["body"] for message in sent[1:]), reached


def test_a_page_comes_whole_and_with_ours_at_its_end():
    headers, body, reached = answer("text/html,*/*;q=0.8", "text/html; charset=utf-8")
    assert body.startswith(PAGE)
    links = rb'<link rel="modulepreload" href="([^"]*)">'
    assert re.sub(links, b"", re.sub(rb"</?(style|script)>", b"", body.removeprefix(PAGE))) == OURS
    preloaded = [url.decode() for url in re.findall(links, body)]
    assert preloaded == [get_module_url(name) for name in find_imports("plot.js")]
    assert headers == {"content-type": "text/html; charset=utf-8", "content-length": str(len(body))}
    assert reached == {"accept": "text/html,*/*;q=0.8", "cookie": "a=1"}


@pytest.mark.parametrize(("accept", "kind"), [("*/*", "text/javascript"), ("text/html", "image/png")])
def test_what_is_no_page_stays_as_it_is(accept, kind):
    headers, body, reached = answer(accept, kind)
    assert (headers["content-length"], headers["etag"], body) == (str(len(PAGE)), "1", PAGE)
    assert ("if-none-match" in reached) == (accept == "*/*")


def fetched(address):
    """Return the response for the address of a module."""
    _, _, digest, file = address.split("/")
    return serve_module(Request({"type": "http", "path_params": {"digest": digest, "name": file}}))


@pytest.mark.parametrize("name", MODULE_SOURCES)
def test_a_browser_may_keep_a_module_for_good(name):
    found = fetched(get_module_url(name))
    assert (found.status_code, found.body) == (200, MODULE_SOURCES[name])
    assert "immutable" in found.headers["cache-control"]


@pytest.mark.parametrize(
    "address", ["/vendor/0/plot.js", "/vendor/0/no.js", get_module_url("plot.js").replace("plot", "..")]
)
def test_no_other_file_is_fetched_so(address):
    assert fetched(address).status_code == 404
