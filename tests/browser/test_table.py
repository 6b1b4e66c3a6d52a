"""Table 1 in a real browser: dragging δ, opening cells, predicting, links, cancelling, a phone, accessibility."""

import pytest
from browsing import served
from looks import barriers, change_theme
from menus import go
from patience import load, settle, soon
from playwright.sync_api import Page, expect

from normviz.ui.palette import THEMES


class Table:
    """The Table 1 page in a browser."""

    def __init__(self, page: Page, url: str) -> None:
        self.page, self.url = page, url

    def open(self, link: str = "", trained: bool = True) -> "Table":
        load(self.page, f"{self.url}/invariance{link}")
        self.page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
        if trained:
            self.settle()
        return self

    def settle(self) -> None:
        """Until the script has run and nothing is training."""
        settle(self.page)
        self.page.locator(".st-key-cancel").wait_for(state="detached")
        self.page.locator(".nv-grid .wait").first.wait_for(state="detached")
        settle(self.page)

    def soon(self, check) -> None:
        soon(self.page, check)

    def cell(self, key: str) -> str:
        return self.page.locator(f'.nv-grid [data-cell="{key}"]').inner_text()

    def click(self, key: str) -> None:
        self.page.locator(f'.nv-grid [data-cell="{key}"]').click()
        self.settle()

    def slider(self, label: str):
        return self.page.locator(".stSlider, .stSelectSlider", has_text=label).get_by_role("slider").first

    def alt(self, key: str) -> str:
        return self.page.locator(f".st-key-{key} .nv-graph").get_attribute("aria-label")


@pytest.fixture
def table(server: str, page: Page) -> Table:
    return Table(page, server)


def test_a_server_whose_first_visitor_opens_this_page_shows_it_whole(new_page):
    with served("app.py") as url:
        table = Table(new_page, url).open(trained=False)
        expect(table.page.get_by_test_id("stTopNav").get_by_role("button", name="Start", exact=True)).to_have_count(1)
        expect(table.page.get_by_role("link", name="app", exact=True)).to_have_count(0)
        expect(table.page.locator(".nv-grid [data-cell]")).to_have_count(18)
        table.settle()
        table.soon(lambda: "2·10⁻¹⁶" in " ".join(table.page.locator(".nv-grid .mark.yes").all_inner_texts()))


def test_dragging_delta_retrains_the_grid_and_the_open_cell(table):
    table.open("?cell=layer.weight-vector-rescaling&steps=20")
    before, curves = table.cell("layer.weight-vector-rescaling"), table.alt("curves")
    still = table.cell("layer.dataset-recentering")
    table.page.evaluate("() => { window.kept = document.querySelector('.st-key-curves .js-plotly-plot'); }")
    slider = table.page.locator(".st-key-delta input")
    slider.scroll_into_view_if_needed()
    box = slider.bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    table.page.mouse.move(x, y)
    table.page.mouse.down()
    far = (box["width"] - 16) * 6 / 18  # six stops of eighteen, for a thumb of 16 pixels
    for step in range(20):
        table.page.mouse.move(x + far * step / 19, y)
        table.page.wait_for_timeout(30)
    table.page.wait_for_url("**delta=30**")  # while the button is still down
    table.soon(lambda: table.cell("layer.weight-vector-rescaling") != before)
    table.soon(lambda: table.alt("curves") != curves)
    table.page.mouse.up()
    table.settle()
    assert table.cell("layer.dataset-recentering") == still
    assert table.page.evaluate("() => window.kept === document.querySelector('.st-key-curves .js-plotly-plot')")
    assert "disagree" not in table.page.locator(".nv-grid table").inner_text()


def test_a_click_and_the_keyboard_open_a_cell(table):
    table.open("?steps=10")
    table.click("weight.case-rescaling")
    heading = table.page.locator("h2").first
    expect(heading).to_contain_text("Weight normalization: single training case re-scaling")
    table.page.wait_for_url("**cell=weight.case-rescaling**")
    button = table.page.locator('.nv-grid [data-cell="weight.case-rescaling"]')
    expect(button).to_have_attribute("aria-pressed", "true")
    button.focus()
    table.page.keyboard.press("ArrowUp")
    table.page.keyboard.press("ArrowLeft")
    table.page.keyboard.press("Enter")
    expect(heading).to_contain_text("Batch normalization: dataset re-centring")
    table.settle()
    grid = table.page.locator(".nv-grid")
    assert grid.evaluate("grid => grid.getRootNode().activeElement.dataset.cell") == "batch.dataset-recentering"


def test_predict_then_reveal_keeps_the_score(table):
    table.open("?steps=10&cover=1", trained=False)
    covered = table.page.locator(".nv-grid .covered")
    expect(covered).to_have_count(18)
    table.page.locator('.nv-grid [data-cell="batch.case-rescaling"]').click()
    table.page.get_by_role("heading", name="Is batch normalization invariant to single training").wait_for()
    table.page.get_by_role("button", name="Not invariant", exact=True).click()
    table.page.get_by_text("The class said: not invariant. Right.").wait_for()
    expect(covered).to_have_count(17)
    assert "not invariant" in table.cell("batch.case-rescaling")
    table.page.locator('.nv-grid [data-cell="layer.dataset-recentering"]').click()
    table.page.get_by_role("heading", name="Is layer normalization invariant").wait_for()
    table.page.get_by_role("button", name="Invariant", exact=True).click()
    table.page.get_by_text("1 of 2 predicted right").wait_for()
    expect(covered).to_have_count(16)
    table.slider("Steps").press("ArrowLeft")  # another setting keeps the score
    table.page.wait_for_url("**steps=5**")
    table.page.get_by_text("1 of 2 predicted right").wait_for()


def test_a_link_restores_the_page(table):
    link = (
        "?schemes=batch,group,custom&layer=conv&delta=7&eps=0.001&optimizer=adam&rate=0.02&follow=0&steps=10&batch=16"
        "&width=4&depth=2&seed=3&groups=4&a_n=own&a_h=full&a_w=full&a_c=own&cell=group.dataset-rescaling&panel=delta"
    )
    table.open(link)
    rows = table.page.locator(".nv-grid tbody th").all_inner_texts()
    assert [row.split("\n")[0] for row in rows] == ["Batch", "Group", "Custom"]
    assert "=" in rows[2]
    expect(table.page.locator("h2").first).to_contain_text("Group normalization: dataset re-scaling")
    before = table.page.locator(".nv-grid").inner_text()
    table.soon(lambda: "precision" in table.alt("sweep"))
    table.page.reload()
    table.page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
    table.settle()
    table.soon(lambda: table.page.locator(".nv-grid").inner_text() == before)


def test_the_pages_keep_their_values_apart(table):
    table.open("?eps=0.5&steps=10")
    go(table.page, "Tensor lab")
    table.page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    table.soon(lambda: "eps" not in table.page.url)
    go(table.page, "Table 1")
    table.page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
    table.settle()
    table.soon(lambda: "fades with ε" in table.cell("batch.dataset-rescaling"))


def test_a_panel_leaves_no_axis_titles_to_the_next(table):
    table.open("?schemes=batch&steps=5&batch=8&width=8&panel=eps")
    titles = table.page.locator(".st-key-sweep [class^=x][class$=title]")
    table.soon(lambda: set(titles.all_text_contents()) == {"ε"})
    table.page.get_by_text("Gap over δ", exact=True).click()
    table.settle()
    table.soon(lambda: "precision" in table.alt("sweep"))
    table.soon(lambda: titles.all_text_contents() == ["δ", "δ"])


def test_a_run_that_is_not_finite_is_explained(table):
    table.open("?schemes=none,batch&rate=1e6&cell=none.dataset-rescaling&steps=50")
    note = table.page.get_by_test_id("stAlert").filter(has_text="The original stopped being finite at step")
    expect(note.first).to_contain_text("overflowed float64")


def test_cancel_stops_the_work_for_good(table):
    table.open("?schemes=divisive,spectral,batch,layer&layer=conv&width=64&steps=2000&seed=8", trained=False)
    cancel, stopped = table.page.locator(".st-key-cancel button"), table.page.get_by_text("Training was stopped")
    table.page.locator(".st-key-anyway button").click()  # what takes long does not start by itself
    cancel.click()
    stopped.wait_for()
    table.page.wait_for_timeout(1500)  # the page does not start again by itself
    expect(stopped).to_have_count(1)
    expect(cancel).to_have_count(0)
    assert table.page.locator(".nv-grid .wait").count() > 0
    table.page.locator(".st-key-again button").click()
    cancel.click()
    stopped.wait_for()


def test_both_themes_and_no_barriers(server, page):
    Table(page, server).open("?steps=10")
    shown = "grid => getComputedStyle(grid).getPropertyValue('--yes')"
    for theme in THEMES:
        change_theme(page, theme)
        soon(page, lambda field=THEMES[theme].field: page.locator(".nv-grid").evaluate(shown).lower() == field.lower())
        assert barriers(page) == []


def test_on_a_phone_the_table_scrolls_and_the_page_does_not(server, page):
    page.set_viewport_size({"width": 390, "height": 844})
    Table(page, server).open("?steps=10")
    wide, inner, outer = page.locator(".nv-grid .nv-scroll").evaluate(
        "grid => [grid.scrollWidth, grid.clientWidth, document.documentElement.scrollWidth]"
    )
    assert wide > inner
    assert outer <= 390
