"""The player in a browser, on every page that has one: it plays in place, and stops when the page is left."""

from dataclasses import dataclass
from urllib.parse import parse_qs

import pytest
from menus import go
from patience import settle, soon, visit
from playwright.sync_api import expect

from normviz.topics.running import state as running
from normviz.topics.weights import state as weights


@dataclass(frozen=True)
class Played:
    """What plays.

    Attributes:
        link: of a page where it stands at `start`.
        label: of its slider; `name`, `default`: of its position in the link.
        figures: the keys of those that are drawn at the position, the last of which tells it: `place`, of its graph.
        others: the keys of the page's other figures.
    """

    link: str
    name: str
    label: str
    default: int
    start: int
    figures: tuple[str, ...]
    place: str
    others: tuple[str, ...]


PLAYED = {
    "stream": Played(
        "running?step=20", "step", "Training batches seen", running.Page().step, 20,
        ("batch", "stream"), "gd.data[3].x[0]", (),
    ),
    "descent": Played(
        "weights?step=20", "step", "Training step", weights.Page().step, 20,
        ("loss", "plane"), "gd._fullData.find(({ mode }) => mode === 'lines+markers').x.length - 1", (),
    ),
    "power": Played(
        "weights?show=spectral&iteration=2", "iteration",
        "Step of the power iteration", weights.Page().iteration, 2,
        ("ellipses",), "gd.getAttribute('aria-label').match(/step (\\d+)/)[1]", ("ratios",),
    ),
}  # fmt: skip
WATCH = """([figures, others]) => {
    const graph = (key) => document.querySelector(`.st-key-${key} .js-plotly-plot`);
    const main = document.querySelector('[data-testid=stMain]'), keys = [...figures, ...others];
    const tops = () => keys.map((key) => graph(key)?.getBoundingClientRect().top);
    const drawn = () => keys.map((key) => Number(graph(key)?.closest('.nv-plot').dataset.drawn));
    const graphs = keys.map(graph), before = drawn(), layouts = [], places = [];
    let watching = true;
    const look = () => {
        layouts.push([main.scrollHeight, ...tops()]);
        if (place() !== null) places.push(place());
        if (watching) requestAnimationFrame(look);
    };
    look();
    window.seen = () => {
        watching = false;
        return { same: keys.every((key, k) => graph(key) === graphs[k]), drawn: drawn().map((n, k) => n - before[k]),
                 layouts, places };
    };
}"""


class Played_page:  # noqa: N801
    """A page with a player in it, open in a browser."""

    def __init__(self, page, url, played):
        self.page, self.played = page, played
        visit(page, f"{url}/{played.link}")
        page.evaluate(
            f"() => {{ window.place = () => {{ const gd = document.querySelector('.st-key-{played.figures[-1]} "
            f".js-plotly-plot'); return gd && Number({played.place}); }}; }}"  # null while another one takes its place
        )
        self.drawn()

    def drawn(self):
        for key in self.played.figures + self.played.others:
            self.page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")
        settle(self.page)

    @property
    def slider(self):
        return self.page.locator(f'input[aria-label="{self.played.label}"]').first

    def button(self, name):
        return self.page.get_by_role("button", name=name, exact=True)

    def press(self, name):
        self.button(name).click()

    def place(self):
        return self.page.evaluate("place()")

    def wait_beyond(self, place):
        self.page.wait_for_function("at => place() > at", arg=place)

    def watch(self):
        self.page.evaluate(WATCH, [self.played.figures, self.played.others])

    def stands_still(self):
        """Where it stands, once slider, picture and link agree and a second and a half change nothing."""

        def still():
            settle(self.page)
            before = self.place()
            self.page.wait_for_timeout(1500)
            return self.place() == before == int(self.slider.input_value()) and self.slider.is_enabled()

        soon(self.page, still)
        place = self.place()
        soon(self.page, lambda: self.in_link() == place)
        return place

    def in_link(self):
        """The place in the link, which leaves out the default."""
        found = parse_qs(self.page.evaluate("location.search.slice(1)")).get(self.played.name)
        return self.played.default if found is None else int(found[0])


@pytest.fixture
def opened(server, page):
    return lambda name: Played_page(page, server, PLAYED[name])


def on_a_phone_all_buttons_stand_in_one_row(shown):
    shown.page.set_viewport_size({"width": 390, "height": 844})
    soon(shown.page, lambda: shown.button("Play").bounding_box()["width"] < 200)
    for first in ("Play", "Pause"):
        expect(shown.button(first)).to_have_count(1)
        boxes = [button.bounding_box() for button in shown.page.locator('[class*="-player"] .stButton button').all()]
        assert len({box["y"] for box in boxes}) == 1
        assert boxes[-1]["x"] + boxes[-1]["width"] <= 390
        if first == "Play":
            shown.press("Play")


@pytest.mark.parametrize("name", PLAYED)
def test_it_plays_in_place_and_pauses(opened, name):
    shown = opened(name)
    shown.watch()
    shown.button("Play").focus()
    shown.page.keyboard.press("Enter")
    shown.wait_beyond(shown.played.start + 9)  # two ticks at the largest speed
    expect(shown.slider).to_be_disabled()
    seen = shown.page.evaluate("seen()")
    assert seen["same"]
    count = len(shown.played.figures)
    assert min(seen["drawn"][:count]) >= 2  # a busy browser draws once for several ticks
    assert max(seen["drawn"][count:], default=0) <= 1  # of the run of the whole page that starts it
    assert max(max(at) - min(at) for at in zip(*seen["layouts"], strict=True)) <= 1  # pixel
    assert seen["places"] == sorted(seen["places"])
    expect(shown.button("Pause")).to_be_focused()
    shown.page.keyboard.press("Enter")
    place = shown.stands_still()
    assert place > shown.played.start + 9
    for key, at in (("ArrowRight", place + 1), ("ArrowLeft", place)):
        shown.slider.focus()
        shown.page.keyboard.press(key)
        soon(shown.page, lambda at=at: shown.place() == int(shown.slider.input_value()) == at)
    assert shown.page.evaluate("seen()")["same"]
    on_a_phone_all_buttons_stand_in_one_row(shown)


BUSY = """button => {
    for (const end = performance.now() + 700; performance.now() < end;);  // a tick is due now, and goes out first
    button.click();
}"""


def test_a_control_keeps_the_place_while_it_plays_and_a_press_in_a_busy_browser_counts_once(opened):
    shown = opened("stream")
    shown.press("Play")
    shown.wait_beyond(shown.played.start + 2)
    places = [shown.place()]
    shown.page.get_by_role("radio", name="Inference", exact=True).click()
    shown.page.wait_for_selector("[aria-checked=true] >> text=Inference")
    shown.watch()
    shown.wait_beyond(shown.place())
    shown.button("Pause").evaluate(BUSY)
    shown.stands_still()
    places += shown.page.evaluate("seen()")["places"]
    assert places[0] < places[-1]
    assert places == sorted(places)  # never back to where it had started


def test_zoom_stays_while_it_plays(opened):
    shown = opened("stream")
    shown.page.locator(".st-key-stream .nsewdrag").first.scroll_into_view_if_needed()
    box = shown.page.locator(".st-key-stream .nsewdrag").first.bounding_box()
    spots = [(box["x"] + f * box["width"], box["y"] + f * box["height"]) for f in (0.2, 0.5, 0.8)]
    shown.page.mouse.move(*spots[0])
    shown.page.mouse.down()
    for spot in spots[1:]:
        shown.page.mouse.move(*spot)
    shown.page.mouse.up()
    axes = "document.querySelector('.st-key-stream .js-plotly-plot')._fullLayout"
    ranges = f"() => [{axes}.xaxis.range, {axes}.yaxis.range]"
    soon(shown.page, lambda: shown.page.evaluate(ranges)[0][0] > 10)
    zoomed = shown.page.evaluate(ranges)
    shown.press("Play")
    shown.wait_beyond(23)
    assert shown.page.evaluate(ranges) == zoomed
    shown.press("Pause")
    shown.stands_still()
    assert shown.page.evaluate(ranges) == zoomed


def test_at_the_end_it_stands_still_and_plays_anew(opened, server):
    shown = opened("power")
    visit(shown.page, f"{server}/weights?show=spectral&iteration=35")
    shown.drawn()
    shown.press("Play")
    expect(shown.button("Pause")).to_have_count(1)
    expect(shown.button("Play")).to_have_count(1)
    expect(shown.slider).to_be_enabled()
    expect(shown.slider).to_have_value("40")
    shown.page.wait_for_url("**/weights?show=spectral")  # the end is the default, and left out
    shown.press("Play")
    shown.page.wait_for_function("() => place() < 35")
    shown.press("Pause")
    assert shown.stands_still() < 40


def test_it_stops_when_the_page_is_left(opened):
    shown = opened("stream")
    shown.press("Play")
    shown.wait_beyond(22)
    go(shown.page, "Tensor lab")
    shown.page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    shown.page.wait_for_timeout(1000)
    shown.page.go_back()
    shown.page.wait_for_selector(".st-key-stream .nv-plot[data-drawn]")
    expect(shown.button("Play")).to_have_count(1)
    shown.stands_still()
