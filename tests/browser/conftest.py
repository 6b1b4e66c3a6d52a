"""A served app and a real Chromium, once for all browser tests of a process, and pages that are looked after."""

from collections.abc import Iterator

import pytest
from browsing import browser, served
from patience import CONNECTED, settle, soon
from pills import named
from playwright.sync_api import BrowserContext, Page
from watching import watched


@pytest.fixture(scope="session")
def server() -> Iterator[str]:
    with served("app.py") as url:
        yield url


@pytest.fixture(scope="session")
def context() -> Iterator[BrowserContext]:
    """One for all pages, so that plotly.js is fetched once."""
    # The page is put together without WebGL, which draws in software here and took twice the time.
    with browser("--disable-gpu-compositing") as chromium:
        yield chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")


@pytest.fixture
def page(context: BrowserContext) -> Iterator[Page]:
    """A page of a test's own."""
    with watched(context) as page:
        yield page


class Lab:
    """The tensor lab in a browser: opens it, waits for it, and reads what it shows."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url
        self.sent: list[int] = []
        page.on("websocket", lambda socket: socket.on("framesent", lambda frame: self.sent.append(len(frame))))

    def open(self, link: str = "") -> "Lab":
        self.page.goto(f"{self.url}/{link}")
        self.page.wait_for_selector(CONNECTED)
        self.settle()
        return self

    def settle(self) -> None:
        """Until the script has run and the cube has been drawn for it."""
        self.page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
        settle(self.page)

    def do(self, action) -> None:
        action(self.page)
        self.settle()

    def graph(self, expression: str, argument=None):
        """Evaluate `gd => …` on the cube's Plotly graph."""
        return self.page.evaluate(
            f"([arg]) => (({expression})(document.querySelector('.st-key-cube .js-plotly-plot'), arg))", [argument]
        )

    def soon(self, check) -> None:
        soon(self.page, check)

    @property
    def readout(self) -> str:
        return self.page.locator(".st-key-cube .nv-readout").inner_text()

    @property
    def box(self) -> dict:
        return self.page.locator(".st-key-cube .nv-graph").bounding_box()

    def pick(self, label: str) -> None:
        """Choose an option of the pills and segmented controls by its label."""
        self.do(lambda page: named(page, label).click())

    def choose(self, key: str, label: str) -> None:
        """Choose an option of one control, by the control's key and the option's label."""
        self.do(lambda page: named(page.locator(f".st-key-{key}"), label).click())

    def number(self, label: str, value: str) -> None:
        def fill(page: Page) -> None:
            page.get_by_label(label, exact=True).fill(value)
            page.keyboard.press("Enter")

        self.do(fill)

    def open_select(self, label: str, option: str) -> None:
        def choose(page: Page) -> None:
            box = page.get_by_role("combobox", name=label)
            box.scroll_into_view_if_needed()
            page.wait_for_timeout(200)  # a list that opens while the page scrolls closes again
            box.click()
            page.get_by_role("option", name=option, exact=True).click()

        self.do(choose)

    def slide(self, label: str) -> None:
        def press(page: Page) -> None:
            page.locator(".stSlider, .stSelectSlider", has_text=label).get_by_role("slider").first.focus()
            page.keyboard.press("ArrowRight")

        self.do(press)

    def point(self, across: float, down: float) -> None:
        """Move the pointer to a fraction of the cube's width and height, and on until the cube has answered."""
        box, before = self.box, self.readout
        for _ in range(20):  # plotly looks under the pointer when it moves, once its picture is ready for it
            self.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
            for _ in range(5):
                self.page.wait_for_timeout(50)
                if self.readout != before:
                    return


@pytest.fixture
def lab(server: str, page: Page) -> Lab:
    return Lab(page, server)


@pytest.fixture(scope="module")
def standing_lab(server: str, context: BrowserContext) -> Iterator[Lab]:
    """One lab for the tests of a module that change all they look at."""
    with watched(context) as page:
        yield Lab(page, server).open()
