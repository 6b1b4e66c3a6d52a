"""The headers of every response, and the two settings that change them."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from normviz.core.errors import InvalidInput
from normviz.ui.security import create_security_headers, is_metrics_open, read_frame_ancestors
from normviz.ui.server import EXCEPTION_HANDLERS, MIDDLEWARE, SECURITY_HEADERS


def read_policy(headers):
    """The directives of a Content-Security-Policy with their sources."""
    directives = (directive.split() for directive in headers["Content-Security-Policy"].split("; "))
    return {name: sources for name, *sources in directives}


def test_the_policy_names_this_host_only():
    own = {"'self'", "'none'", "'unsafe-inline'", "data:", "blob:"}
    policy = read_policy(SECURITY_HEADERS)
    named = {source for sources in policy.values() for source in sources if not source.startswith("'sha256-")}
    assert named <= own
    assert {"default-src", "base-uri", "form-action", "frame-ancestors"} <= policy.keys()  # the last three stand alone


def test_only_the_scripts_of_the_page_run_inline():
    assert not {"'unsafe-inline'", "'unsafe-eval'", "data:"} & set(read_policy(SECURITY_HEADERS)["script-src"])
    alert = "'sha256-bhHHL3z2vDgxUt0W3dWQOrprscmda2Y5pLsLg4GF+pI='"  # of alert(1), by openssl
    assert alert in read_policy(create_security_headers(b"<html><script>alert(1)</script>", "'self'"))["script-src"]
    assert alert not in read_policy(SECURITY_HEADERS)["script-src"]


@pytest.mark.parametrize(
    ("value", "sources"),
    [
        ("", "'self'"),
        ("https://canvas.example.edu", "'self' https://canvas.example.edu"),
        (
            " https://*.example.edu:8443\thttp://localhost:*  ",
            "'self' https://*.example.edu:8443 http://localhost:*",
        ),
        ("*", "'self' *"),
    ],
)
def test_the_sites_that_may_embed_the_app(value, sources):
    assert read_frame_ancestors({"NORMVIZ_FRAME_ANCESTORS": value}) == sources
    assert read_policy(create_security_headers(b"", sources))["frame-ancestors"] == sources.split()


@pytest.mark.parametrize(
    "value",
    [
        "https://a.example; script-src *",
        "https://a.example;script-src",
        "https://a.example\r\nSet-Cookie: a=1",
        "https://a.example,https://b.example",
        "'unsafe-inline'",
        "canvas.example.edu",
        "https://a.example/course",
        "javascript:",
        "https://ä.example",
        "https://a.example\0",
    ],
)
def test_a_value_that_names_no_site_is_refused(value):
    with pytest.raises(InvalidInput, match="NORMVIZ_FRAME_ANCESTORS lists sites, as https://"):
        read_frame_ancestors({"NORMVIZ_FRAME_ANCESTORS": value})


def test_metrics_are_closed_unless_the_setting_is_1():
    assert [is_metrics_open({"NORMVIZ_METRICS": value}) for value in ("", "0", "1")] == [False, False, True]
    assert not is_metrics_open({})
    with pytest.raises(InvalidInput, match="NORMVIZ_METRICS is 1 to open"):
        is_metrics_open({"NORMVIZ_METRICS": "yes"})


def request(path):
    """The status, the headers and the body of the answer of an application with a page that fails."""

    def fail(_):
        raise ZeroDivisionError

    async def receive():
        return {"type": "http.request"}

    async def send(message):
        sent.append(message)

    async def ask():
        app = Starlette(routes=[Route("/fails", fail)], middleware=MIDDLEWARE, exception_handlers=EXCEPTION_HANDLERS)
        scope = {"type": "http", "method": "GET", "path": path, "query_string": b"", "headers": []}
        try:
            await app(scope, receive, send)
        except ZeroDivisionError:  # raised again, for the server's log
            sent[0]["failed"] = True

    sent = []
    with ThreadPoolExecutor() as thread:  # in this one the event loop of a browser may run
        thread.submit(lambda: asyncio.run(ask())).result()
    start, *rest = sent
    headers = {name.decode(): value.decode() for name, value in start["headers"]}
    return start["status"], headers, b"".join(message.get("body", b"") for message in rest), "failed" in start


@pytest.mark.parametrize(("path", "status"), [("/fails", 500), ("/nowhere", 404), ("/a/_stcore/metrics", 404)])
def test_errors_carry_the_headers(path, status):
    found, headers, body, failed = request(path)
    assert (found, failed) == (status, status == 500)
    assert headers.items() >= {name.lower(): value for name, value in SECURITY_HEADERS.items()}.items()
    assert b"ZeroDivision" not in body
