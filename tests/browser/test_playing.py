"""The stream of the training and inference page in a browser: it plays in place, and stops when the page is left."""

import pytest

PLACE = """() => [
    Number(document.querySelector('input[aria-label="Batches seen"]').value),
    document.querySelector('.st-key-stream .js-plotly-plot').data[3].x[0],
]"""
WATCH = """() => {
    window.kept = ['stream', 'effect'].map((key) => document.querySelector(`.st-key-${key} .js-plotly-plot`));
    window.heights = new Set();
    window.watching = true;
    const main = document.querySelector('[data-testid=stMain]');
    const look = () => { heights.add(main.scrollHeight); if (watching) requestAnimationFrame(look); };
    look();
}"""
SEEN = """() => { watching = false; return [
    ['stream', 'effect'].every((key, k) => kept[k] === document.querySelector(`.st-key-${key} .js-plotly-plot`)),
    kept.map((graph) => Number(graph.closest('.nv-plot').dataset.drawn)), [...heights],
]; }"""


@pytest.fixture
def page(server, context):
    page = context.new_page()
    page.set_default_timeout(60_000)
    page.goto(f"{server}/running?step=20")
    for key in ("stream", "effect"):
        page.wait_for_selector(f".st-key-{key} .nv-plot[data-drawn]")
    settle(page)
    yield page
    page.close()


def settle(page):
    page.wait_for_timeout(300)
    page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
    page.wait_for_timeout(400)


def press(page, name):
    page.get_by_role("button", name=name, exact=True).click()


def wait_beyond(page, place):
    page.wait_for_function("place => document.querySelector('.st-key-stream .js-plotly-plot').data[3].x[0] > place",
                           arg=place)  # fmt: skip


def stands_still(page):
    settle(page)
    place = page.evaluate(PLACE)
    page.wait_for_timeout(1500)
    assert page.evaluate(PLACE) == place
    assert place[0] == place[1]
    return place[0]


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
    assert page.url.endswith(f"step={place}")
    press(page, "Step")
    assert stands_still(page) == place + 1
    page.locator('input[aria-label="Batches seen"]').focus()
    page.keyboard.press("ArrowLeft")
    assert stands_still(page) == place


def test_a_control_keeps_the_place_while_it_plays(page):
    press(page, "Play")
    wait_beyond(page, 22)
    before = page.evaluate(PLACE)[1]
    page.get_by_text("Noise", exact=True).click()
    page.wait_for_selector("text=The scatter of μ falls")
    wait_beyond(page, before)
    assert page.evaluate(PLACE)[1] < before + 30
    press(page, "Pause")
    assert before < stands_still(page) < before + 40


def test_it_stops_when_the_page_is_left(page):
    press(page, "Play")
    wait_beyond(page, 22)
    page.get_by_role("link", name="Tensor lab").click()
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    page.wait_for_timeout(1000)
    page.go_back()
    page.wait_for_selector(".st-key-stream .nv-plot[data-drawn]")
    settle(page)
    assert page.get_by_role("button", name="Play", exact=True).count() == 1
    stands_still(page)
