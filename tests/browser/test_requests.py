"""Every test in a browser fails where a page asks another host, a script fails or a policy is broken: it is noticed."""

import pytest
from patience import soon
from watching import watched

ELSEWHERE = "127.0.0.2:9"
ASKS = {
    "picture": f"<img src='http://{ELSEWHERE}/a.png'>",
    "icon": f"<link rel='icon' href='http://{ELSEWHERE}/icon.png'>",
    "socket": f"<script>new WebSocket('ws://{ELSEWHERE}/stream')</script>",
}


def show(context, server, markup, headers=None):
    """Show a page of this markup, and then that it has been taken in."""
    body = markup + "<script>setTimeout(() => { window.over = true; }, 50)</script>"
    with watched(context) as page:
        page.route(f"{server}/shown", lambda route: route.fulfill(body=body, content_type="text/html", headers=headers))
        page.goto(f"{server}/shown")
        soon(page, lambda: page.evaluate("() => window.over"))


@pytest.mark.parametrize("how", ASKS)
def test_another_host_is_noticed(context, server, how):
    with pytest.raises(AssertionError, match=ELSEWHERE):
        show(context, server, ASKS[how])


def test_a_script_that_fails_is_noticed(context, server):
    with pytest.raises(AssertionError, match="no such thing"):
        show(context, server, "<script>setTimeout(() => { throw Error('no such thing'); })</script>")


def test_its_own_host_is_no_other(context, server):
    show(context, server, f"<img src='{server}/a.png'><link rel='icon' href='/icon.png'>")


def test_a_broken_policy_is_noticed(context, server):
    policy = {"Content-Security-Policy": "default-src 'self' 'unsafe-inline'; img-src 'none'"}
    with pytest.raises(AssertionError, match=r"Content Security Policy directive: .img-src"):
        show(context, server, f"<img src='{server}/a.png'>", policy)
