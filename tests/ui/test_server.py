"""What the server sends beside Streamlit's own pages."""

import pytest

from normviz.ui.server import SHIPPED, WithHistory

PAGE = b"<html>a page</html>"
SCRIPT = f"<script>{(SHIPPED / 'history.js').read_text()}</script>".encode()


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
    scope = {"type": "http", "method": "GET", "headers": [(k.encode(), v.encode()) for k, v in asked.items()]}
    with pytest.raises(StopIteration):  # a coroutine that waits for nothing, also where an event loop runs
        WithHistory(app)(scope, None, send).send(None)
    headers = {name.decode(): value.decode() for name, value in sent[0]["headers"]}
    return headers, b"".join(message["body"] for message in sent[1:]), reached


def test_a_page_comes_whole_and_with_the_script_at_its_end():
    headers, body, reached = answer("text/html,*/*;q=0.8", "text/html; charset=utf-8")
    assert body == PAGE + SCRIPT
    assert headers == {"content-type": "text/html; charset=utf-8", "content-length": str(len(body))}
    assert reached == {"accept": "text/html,*/*;q=0.8", "cookie": "a=1"}


@pytest.mark.parametrize(("accept", "kind"), [("*/*", "text/javascript"), ("text/html", "image/png")])
def test_what_is_no_page_stays_as_it_is(accept, kind):
    headers, body, reached = answer(accept, kind)
    assert (headers["content-length"], headers["etag"], body) == (str(len(PAGE)), "1", PAGE)
    assert ("if-none-match" in reached) == (accept == "*/*")
