"""A served app and a real Chromium, once for all browser tests of a process, and pages that are looked after."""

from collections.abc import Iterator

import pytest
from browsing import browser, served
from looks import change_theme
from patience import TWO_FRAMES, drag, run_by, settle, soon, visit
from pills import named
from playwright.sync_api import BrowserContext, Page
from runs import Runs
from watching import Watched, open_watched, watched

IS_DARK = "() => matchMedia('(prefers-color-scheme: dark)').matches && !!document.querySelector('.stApp')"
FAILED = pytest.StashKey[bool]()


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


class Tab:
    """One page for the tests of a module: loading the app takes most of a test's time.

    Each test finds it as a new page of this size; it goes to its address by `visit`.
    """

    def __init__(self, context: BrowserContext, width: int, height: int) -> None:
        self.context, self.size = context, {"width": width, "height": height}
        self.watched: Watched | None = None

    def ready(self) -> Page:
        """Return the page, as large and as light as a new one, without a pointer over it."""
        if self.watched is None:
            self.watched = open_watched(self.context)
        page = self.watched.page
        if page.url.startswith("http"):
            page.evaluate("() => localStorage.clear()")  # a sidebar that was opened by hand would open over a phone
        page.set_viewport_size(self.size)
        page.emulate_media(reduced_motion="no-preference")
        if page.evaluate(IS_DARK):
            change_theme(page, "light")  # a run for the new theme would meet the one of the next link
        page.mouse.move(0, 0)
        return page

    def close(self) -> None:
        """Close the page; the next test opens another one."""
        if self.watched:
            self.watched.page.close()
        self.watched = None


def lent(tab: Tab, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Lend a test the page of its module, and check afterwards what it did. A test that failed may have spoilt it."""
    page = tab.ready()
    yield page
    try:
        if request.node.stash[FAILED]:
            tab.close()
        else:
            tab.watched.check()
    except AssertionError:
        tab.close()
        raise


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Iterator[None]:
    """Remember for its fixtures that a test failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="module")
def _tab(context: BrowserContext) -> Iterator[Tab]:
    tab = Tab(context, 1280, 900)
    yield tab
    tab.close()


@pytest.fixture(scope="module")
def _phone_tab(context: BrowserContext) -> Iterator[Tab]:
    phone = context.browser.new_context(viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True)
    tab = Tab(phone, 390, 844)
    yield tab
    phone.close()


@pytest.fixture
def page(_tab: Tab, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of the module."""
    yield from lent(_tab, request)


@pytest.fixture
def phone(_phone_tab: Tab, request: pytest.FixtureRequest) -> Iterator[Page]:
    """The page of the module on a phone, with a finger."""
    yield from lent(_phone_tab, request)


@pytest.fixture
def new_page(context: BrowserContext) -> Iterator[Page]:
    """A page of a test's own, for what only a first visit shows, or what a step back to this link would not undo."""
    with watched(context) as page:
        yield page


class Lab:
    """The tensor lab in a browser: opens it, waits for it, and reads what it shows."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url

    def open(self, link: str = "") -> "Lab":
        visit(self.page, f"{self.url}/{link}")
        self.settle()
        return self

    def open_below(self) -> "Lab":
        """Scroll to what is below the first screen, which is computed then, and back."""
        self.do(lambda page: page.locator(".nv-sight").scroll_into_view_if_needed())
        self.page.locator(".st-key-cube").scroll_into_view_if_needed()
        return self

    @property
    def sent(self) -> list[int]:
        """The size of every message to the server."""
        return Runs.of(self.page).sent

    def settle(self) -> None:
        """Until the script has run and the cube has been drawn for it."""
        self.page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
        settle(self.page)

    def do(self, action) -> None:
        """Do what asks the server for a run, and wait until that is shown."""
        run_by(self.page, action)
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

    def look(self, label: str) -> None:
        """Choose a colour or a layout in the menu over the cube."""

        def choose(page: Page) -> None:
            page.locator(".st-key-look button").first.click()
            named(page.get_by_test_id("stPopoverBody"), label).click()

        self.do(choose)
        self.page.keyboard.press("Escape")

    def index(self, letter: str, value: str) -> None:
        """Lock another index, typed beside the cube."""
        self.page.locator(".nv-choose").evaluate("(part) => { part.open = true; }")
        self.number(letter, value)

    def number(self, label: str, value: str) -> None:
        def fill(page: Page) -> None:
            page.get_by_label(label, exact=True).fill(value)
            page.keyboard.press("Enter")

        self.do(fill)

    def open_select(self, label: str, option: str) -> None:
        def choose(page: Page) -> None:
            box = page.get_by_role("combobox", name=label)
            box.scroll_into_view_if_needed()
            page.evaluate(TWO_FRAMES)  # a list that opens while the page scrolls closes again
            box.click()
            page.get_by_role("option", name=option, exact=True).click()

        self.do(choose)

    def slide(self, label: str) -> None:
        def press(page: Page) -> None:
            page.locator(".stSlider, .stSelectSlider", has_text=label).get_by_role("slider").first.focus()
            page.keyboard.press("ArrowRight")

        self.do(press)

    def point(self, across: float, down: float) -> None:
        """Move the pointer to a fraction of the cube's width and height; the cube answers in the frame behind it."""
        self.page.mouse.move(*self.place(across, down))
        self.page.evaluate(TWO_FRAMES)

    def place(self, across: float, down: float) -> tuple[float, float]:
        """Return the place of the window at a fraction of the cube's width and height."""
        box = self.box
        return box["x"] + across * box["width"], box["y"] + down * box["height"]

    def drag(self, start: tuple[float, float], end: tuple[float, float]) -> None:
        """Drag between two such fractions."""
        drag(self.page, self.place(*start), self.place(*end))


@pytest.fixture
def lab(server: str, page: Page) -> Lab:
    return Lab(page, server)
