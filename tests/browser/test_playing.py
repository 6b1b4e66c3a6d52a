"""The stream of the training and inference page in a browser: it plays in place, and stops when the page is left."""

import pytest
from patience import LIMIT, settle, soon
from playwright.sync_api import expect

PLACE = """() => [
    Number(document.querySelector('input[aria-label="Batches seen"]').value),
    document.querySelector('.st-key-stream .js-plotly-plot').data[3].x[0],
]"""
WATCH = """() => {
    window.kept = ['stream', 'effect'].map((key) => document.querySelector(`.st-key-${key} .js-plotly-plot`));
    window.heights = new Set();
    window.places = [];
    window.watching = true;
    const main = document.querySelector('[data-testid=stMain]');
    const place = () => document.querySelector('.st-key-stream .js-plotly-plot').data[3].x[0];
    const look = () => {
        heights.add(main.scrollHeight);
        places.push(place());
        if (watching) requestAnimationFrame(look);
    };
    look();
}"""
SEEN = """() => { watching = false; return [
    ['stream', 'effect'].every((key, k) => kept[k] === document.querySelector(`.st-key-${key} .js-plotly-plot`)),
    kept.map((graph) => Number(graph.closest('.nv-plot').dataset.drawn)), [...heights],
]; }"""


@pytest.fixture
def page(server, context):
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    page.goto(f"{server}/running?step=20")
    for key in ("stream", "effect"):
        page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")
    settle(page)
    yield page
    page.close()


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def wait_beyond(page, place):
    page.wait_for_function("place => document.querySelector('.st-key-stream .js-plotly-plot').data[3].x[0] > place",
                           arg=place)  # fmt: skip


def stands_still(page):
    """Where it stands, once slider and curve agree and a second and a half change nothing."""

    def still():
        settle(page)
        place = page.evaluate(PLACE)
        page.wait_for_timeout(1500)
        return page.evaluate(PLACE) == place and place[0] == place[1]

    soon(page, still)
    return page.evaluate(PLACE)[0]


def test_it_plays_in_place_and_pauses(page):
    drawn = page.evaluate("() => Number(document.querySelector('.st-key-effect .nv-plot').dataset.drawn)")
    page.evaluate(WATCH)
    press(page, "Play")
    wait_beyond(page, 24)
    same, (stream, effect), heights = page.evaluate(SEEN)
    assert same
    assert stream > 4
    assert effect <= drawn + 1  # of the run of the whole page that starts it
    assert len(heights) == 1
    press(page, "Pause")
    place = stands_still(page)
    assert place > 24
    page.wait_for_url(f"**step={place}")
    press(page, "Step")
    soon(page, lambda: stands_still(page) == place + 1)
    page.locator('input[aria-label="Batches seen"]').focus()
    page.keyboard.press("ArrowLeft")
    soon(page, lambda: stands_still(page) == place)


def test_a_control_keeps_the_place_while_it_plays(page):
    press(page, "Play")
    wait_beyond(page, 22)
    page.evaluate(WATCH)
    page.get_by_text("Noise", exact=True).click()
    page.wait_for_selector("text=The scatter of μ falls")
    wait_beyond(page, page.evaluate(PLACE)[1])
    press(page, "Pause")
    stands_still(page)
    places = page.evaluate("() => { watching = false; return places; }")
    assert places[0] < places[-1]
    assert places == sorted(places)  # never back to where it had started


def test_it_stops_when_the_page_is_left(page):
    press(page, "Play")
    wait_beyond(page, 22)
    page.get_by_role("link", name="Tensor lab").click()
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    page.wait_for_timeout(1000)
    page.go_back()
    page.wait_for_selector(".st-key-stream .nv-plot[data-drawn]")
    expect(page.get_by_role("button", name="Play", exact=True)).to_have_count(1)
    stands_still(page)
