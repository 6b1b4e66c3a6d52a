"""What no page may do, whatever a test does with it: fail in a script, ask another host, or break its own policy.

A class without internet sees all, and nobody is told who looks.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import urlsplit

from patience import LIMIT
from playwright.sync_api import BrowserContext, Page
from runs import Runs

POLICY = "Content Security Policy"
"""In every message of Chromium about something that the page's headers forbid."""


class Watched:
    """What a page does that no test asks about: its errors, and the addresses that it asks for."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.errors: list[str] = []
        self.asked: list[str] = []
        page.set_default_timeout(LIMIT)
        page.on("pageerror", lambda error: self.errors.append(str(error)))
        page.on("console", lambda said: self.errors.append(said.text[-400:]) if POLICY in said.text else None)
        page.on("request", lambda request: self.asked.append(request.url))
        page.on("websocket", lambda socket: self.asked.append(socket.url))

    def foreign(self) -> set[str]:
        """The hosts that were asked besides the page's own; for its icons Chromium without a window asks nobody."""
        icons = self.page.locator("link[rel~=icon]").evaluate_all("links => links.map(link => link.href)")
        asked = {urlsplit(url).netloc for url in [*self.asked, *icons] if url.startswith(("http", "ws"))}
        return asked - {urlsplit(self.page.url).netloc}

    def check(self) -> None:
        """Fail where the page has done what no page may do since it was opened or last checked."""
        foreign, errors = self.foreign(), self.errors
        self.errors, self.asked = [], []
        assert not errors, errors
        assert not foreign, foreign


def open_watched(context: BrowserContext) -> Watched:
    """Open a page whose errors, requests and runs are recorded."""
    page = context.new_page()
    Runs(page)
    return Watched(page)


@contextmanager
def watched(context: BrowserContext) -> Iterator[Page]:
    """A new page on which no script fails, which asks no other host, and needs nothing that its headers forbid."""
    seen = open_watched(context)
    try:
        yield seen.page
        seen.check()
    finally:
        seen.page.close()
