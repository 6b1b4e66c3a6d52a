"""Waiting in browser tests: a busy machine shows a change late, so what should become true is asked until it is."""

import time
from collections.abc import Callable

from playwright.sync_api import Page, expect

LIMIT = 60_000  # ms
CONNECTED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"]'
RUN_OVER = '[data-testid="stApp"][data-test-script-state="notRunning"]'

expect.set_options(timeout=LIMIT)


def soon(page: Page, check: Callable[[], bool]) -> None:
    """Until the check holds; fails where it does not within a minute."""
    end = time.monotonic() + LIMIT / 1000
    while not check():
        assert time.monotonic() < end, "what was waited for has not come"
        page.wait_for_timeout(50)


def settle(page: Page) -> None:
    """Until the script has run, every figure has been drawn for it, the page is shown, and the fonts are there."""
    page.wait_for_timeout(200)  # until what was done has reached the server
    page.wait_for_selector(RUN_OVER)
    page.wait_for_function("() => !document.querySelector('.nv-plot[data-drawing]')")
    page.wait_for_function("() => getComputedStyle(document.querySelector('.stMain')).visibility === 'visible'")
    page.evaluate("() => document.fonts.ready.then(() => null)")  # a formula is another pixel high with its own font
