"""Waiting in browser tests: always for what should come, never for time, since a busy machine shows a change late."""

import time
from collections.abc import Callable
from urllib.parse import urlsplit

from playwright.sync_api import Page, expect
from runs import Runs

LIMIT = 60_000  # ms
CONNECTED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"]'
RUN_OVER = '[data-testid="stApp"][data-test-script-state="notRunning"]'

# True once the page shows all that the server has sent: the run is over for the page, too, every figure has been
# drawn, the page is visible, and the fonts are there, with which a formula is another pixel high.
SHOWN = f"""() => document.querySelector('{RUN_OVER}')
  && !document.querySelector('.nv-plot[data-drawing]')
  && document.querySelector('.stMain') && getComputedStyle(document.querySelector('.stMain')).visibility === 'visible'
  && document.fonts.status === 'loaded'"""
TWO_FRAMES = "() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done())))"

expect.set_options(timeout=LIMIT)


def soon(page: Page, check: Callable[[], bool]) -> None:
    """Wait until the check holds; fail where it does not within a minute."""
    end = time.monotonic() + LIMIT / 1000
    while not check():
        assert time.monotonic() < end, "what was waited for has not come"
        page.wait_for_timeout(20)


def settle(page: Page) -> None:
    """Wait until every run that the page asked for is over, and the page shows what came of it."""
    runs = Runs.of(page)
    while True:
        page.evaluate(TWO_FRAMES)  # what was done reaches the server, what it sent is drawn
        soon(page, lambda: runs.are_over)
        page.wait_for_function(SHOWN)
        requested = runs.requested
        page.evaluate(TWO_FRAMES)
        if runs.are_over and runs.requested == requested and page.evaluate(SHOWN):
            return


def run_by(page: Page, action: Callable[[Page], object]) -> None:
    """Do what asks the server for a run, and wait until that run is over and shown."""
    runs = Runs.of(page)
    before = runs.requested
    action(page)
    soon(page, lambda: runs.requested > before)
    settle(page)


def drag(page: Page, start: tuple[float, float], end: tuple[float, float]) -> None:
    """Drag from one place of the window to another, as slowly as a hand: the page draws between any two moves."""
    page.mouse.move(*start)
    page.evaluate(TWO_FRAMES)
    page.mouse.down()
    for step in range(1, 9):
        page.mouse.move(*(a + (b - a) * step / 8 for a, b in zip(start, end, strict=True)))
        page.evaluate(TWO_FRAMES)
    page.mouse.up()
    page.mouse.move(5, 5)


GO = """url => {
  document.querySelector('.stMain')?.scrollTo(0, 0);
  History.prototype.pushState.call(history, {}, '', url);
  dispatchEvent(new PopStateEvent('popstate', { state: {} }));
}"""


def visit(page: Page, url: str) -> None:
    """Show an address of the app, and wait until it is shown.

    A page that shows the app already goes there as by a step in its history: all settings are those of the link, and
    nothing is loaded again, which takes most of the time. A page that does not is loaded.
    """
    if page.url.startswith("http") and _host(page.url) == _host(url) and page.locator(CONNECTED).count():
        run_by(page, lambda page: page.evaluate(GO, url))
    else:
        load(page, url)


def load(page: Page, url: str) -> None:
    """Load an address, and wait until it is shown: where a training of the page before may still ask for runs."""
    page.goto(url)
    page.wait_for_selector(CONNECTED)
    settle(page)


def _host(url: str) -> str:
    return urlsplit(url).netloc
