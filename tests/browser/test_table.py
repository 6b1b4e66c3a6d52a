"""Table 1 in a real browser: guessing, the map, settings, links, cancelling, a phone, accessibility."""

import pytest
from browsing import served
from looks import barriers, change_theme
from menus import go
from patience import load, settle, soon
from playwright.sync_api import Page, expect

from normviz.charts.palette import THEMES

SMALL = "steps=10&batch=8&width=8"


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
        self.page.locator(".st-key-training", has_text="Trained on").wait_for()
        settle(self.page)

    def soon(self, check) -> None:
        soon(self.page, check)

    def cell(self, key: str):
        return self.page.locator(f'.nv-grid [data-cell="{key}"]')

    def click(self, key: str) -> None:
        self.cell(key).click()
        self.settle()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()
        self.settle()

    def title(self):
        return self.page.locator(".st-key-case h2")

    def alt(self) -> str:
        return self.page.locator(".nv-twins .frame").get_attribute("aria-label")


@pytest.fixture
def table(server: str, page: Page) -> Table:
    return Table(page, server)


def in_sight(locator, height: float) -> bool:
    """Whether all of an element is in the window, nothing scrolled."""
    box = locator.bounding_box()
    return box is not None and box["y"] >= 0 and box["y"] + box["height"] <= height


def test_the_question_and_all_rows_are_in_sight_and_after_a_guess_the_curves_and_why(table):
    table.page.set_viewport_size({"width": 1280, "height": 800})
    table.open()
    page = table.page
    for shown in (
        table.title(),
        page.get_by_role("heading", name="Do both have the same loss at every step?"),
        page.get_by_role("button", name="= Yes, the same"),
        page.get_by_role("button", name="≠ No, differently"),
        table.cell("none.weight-matrix-rescaling"),
        table.cell("layer.case-rescaling"),
        page.get_by_role("columnheader", name="Weights"),
        page.get_by_role("columnheader", name="+ pattern the same for all").first,
        page.get_by_role("rowheader", name="Weight norm divides each neuron's weights by their length"),
    ):
        assert in_sight(shown, 800), shown
    table.press("≠ No, differently")
    for shown in (
        page.locator(".nv-twins .frame"),
        page.get_by_text("Dividing by that standard deviation cancels the factor."),
        page.get_by_text("Not quite: the losses are the same"),
        page.get_by_role("button", name="Watch them train"),
        page.get_by_role("button", name="Next case"),
        table.cell("none.weight-matrix-rescaling"),
        table.cell("layer.case-rescaling"),
    ):
        assert in_sight(shown, 800), shown


def test_the_first_screen_has_at_most_25_controls(table):
    table.page.set_viewport_size({"width": 1280, "height": 800})
    count = """() => { const found = [];
      const look = (root) => root.querySelectorAll('*').forEach((e) => {
        if (e.shadowRoot) look(e.shadowRoot);
        const box = e.getBoundingClientRect();
        const inside = box.width && box.top >= 0 && box.bottom <= innerHeight;
        const shown = inside && e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true});
        if (shown && e.matches('button, a[href], input, select, summary, [role=slider]')) found.push(e);
      });
      look(document); return found.length; }"""
    table.open()
    assert 8 < table.page.evaluate(count) <= 25  # the map is one stop of the Tab key
    table.press("= Yes, the same")
    assert table.page.evaluate(count) <= 25


def test_a_server_whose_first_visitor_opens_this_page_shows_it_whole(new_page):
    with served("app.py") as url:
        table = Table(new_page, url).open(trained=False)
        expect(table.page.locator(".nv-grid [data-cell]")).to_have_count(24)
        table.settle()
        table.press("= Yes, the same")
        assert table.alt().startswith("Loss of network and twin; at the end ")


def test_guesses_fill_the_map_and_lead_on(table):
    table.open(f"?{SMALL}")
    covered, page = table.page.locator(".nv-grid .covered"), table.page
    expect(covered).to_have_count(24)
    table.press("= Yes, the same")
    page.get_by_text("Right: the losses").wait_for()
    expect(covered).to_have_count(23)
    assert table.cell("batch.dataset-rescaling").inner_text().split() == ["=", "same"]
    table.press("Next case")
    expect(table.title()).to_contain_text("Weight norm, all images")
    table.press("= Yes, the same")
    page.get_by_text("Not quite: the losses differ").wait_for()
    expect(covered).to_have_count(22)
    page.get_by_text("Guess 2 of 24 · 1 of 2 right").wait_for()
    table.press("Reveal all")
    expect(covered).to_have_count(0)
    page.wait_for_url("**reveal=1**")
    page.reload()
    page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
    expect(covered).to_have_count(0)


def test_settings_stay_open_while_delta_is_dragged_and_the_curves_follow(table):
    table.open("?cell=layer.weight-vector-rescaling&steps=20&delta=3&reveal=1")
    page, before = table.page, table.alt()
    page.evaluate("() => { window.kept = document.querySelector('.st-key-case h2'); }")
    page.get_by_text("Advanced", exact=True).click()
    table.settle()
    slider = page.locator(".st-key-delta input")

    def hold() -> bool:  # again where the settings unfold meanwhile, which moves the slider
        page.mouse.up()
        slider.hover()
        page.mouse.down()
        return slider.evaluate("slider => slider.matches(':active')")

    def move_to_30() -> bool:
        box = slider.bounding_box()
        x = box["x"] + 8 + (box["width"] - 16) * 15 / 18  # stop 15 of 18, for a thumb of 16 pixels
        page.mouse.move(x, box["y"] + box["height"] / 2, steps=20)
        return slider.input_value() == "15"

    table.soon(hold)
    table.soon(move_to_30)
    page.wait_for_url("**delta=30**")  # while the button is still down
    table.soon(lambda: table.alt() != before)
    page.mouse.up()
    table.settle()
    expect(slider).to_be_visible()
    page.get_by_text("δ = 30, τ").wait_for()
    expect(table.title()).to_contain_text("× 30")


def test_a_click_and_the_keyboard_open_a_case(table):
    table.open(f"?{SMALL}")
    table.click("weight.case-rescaling")
    expect(table.title()).to_contain_text("Weight norm, one image of each batch")
    table.page.wait_for_url("**cell=weight.case-rescaling**")
    button = table.cell("weight.case-rescaling")
    expect(button).to_have_attribute("aria-pressed", "true")
    button.focus()
    table.page.keyboard.press("ArrowUp")
    table.page.keyboard.press("ArrowLeft")
    table.page.keyboard.press("Enter")
    expect(table.title()).to_contain_text("Batch norm, all images + one pattern")
    table.settle()
    grid = table.page.locator(".nv-grid")
    assert grid.evaluate("grid => grid.getRootNode().activeElement.dataset.cell") == "batch.dataset-recentering"


def test_a_link_restores_the_page(table):
    link = (
        "?schemes=batch,group,custom&layer=conv&delta=7&eps=0.001&optimizer=adam&rate=0.02&follow=0&steps=10&batch=16"
        "&width=4&depth=2&seed=3&groups=4&a_n=own&a_h=full&a_w=full&a_c=own&cell=group.dataset-rescaling&panel=delta"
    )
    table.open(link)
    rows = table.page.locator(".nv-grid tbody th").all_inner_texts()
    assert [row.split("\n")[0] for row in rows] == ["Batch norm", "Group norm", "Custom"]
    assert "=" in rows[2]
    expect(table.title()).to_contain_text("Group norm, all images × 7")
    before = table.page.locator(".nv-grid").inner_text()
    sweep = table.page.locator(".st-key-sweep .nv-graph")
    table.soon(lambda: "precision" in sweep.get_attribute("aria-label"))
    table.page.reload()
    table.page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
    table.settle()
    table.soon(lambda: table.page.locator(".nv-grid").inner_text() == before)


def test_the_pages_keep_their_values_apart(table):
    table.open(f"?eps=0.5&{SMALL}")
    go(table.page, "Tensor lab")
    table.page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    table.soon(lambda: "eps" not in table.page.url)
    go(table.page, "Table 1")
    table.page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
    table.settle()
    table.page.get_by_text("δ = 10, τ = 2, ε = 0.5").wait_for()


def test_a_panel_leaves_no_axis_titles_to_the_next(table):
    table.open("?schemes=batch&steps=5&batch=8&width=8&panel=eps")
    titles = table.page.locator(".st-key-sweep [class^=x][class$=title]")
    table.soon(lambda: set(titles.all_text_contents()) == {"ε"})
    table.page.get_by_text("Effect of δ", exact=True).click()
    table.settle()
    table.soon(lambda: titles.all_text_contents() == ["δ", "δ"])


def test_a_run_that_is_not_finite_is_explained(table):
    table.open("?schemes=none,batch&rate=1e6&cell=none.dataset-rescaling&steps=50&reveal=1")
    note = table.page.get_by_test_id("stAlert").filter(has_text="The network stopped being finite at step")
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
    table.page.locator(".st-key-again button").click()
    cancel.click()
    stopped.wait_for()


def test_both_themes_and_no_barriers(server, page):
    table = Table(page, server).open(f"?{SMALL}")
    shown = "grid => getComputedStyle(grid).getPropertyValue('--yes')"
    for link in (f"?{SMALL}", f"?reveal=1&cell=batch.case-rescaling&{SMALL}"):
        table.open(link)
        for theme in THEMES:
            change_theme(page, theme)
            soon(page, lambda yes=THEMES[theme].yes: page.locator(".nv-grid").evaluate(shown).lower() == yes.lower())
            assert barriers(page) == []


def test_on_a_phone_a_tapped_cell_opens_its_case_in_sight(server, phone):
    table = Table(phone, server).open(f"?{SMALL}")
    for name in ("= Yes, the same", "≠ No, differently"):
        button = phone.get_by_role("button", name=name)
        assert in_sight(button, 844)
        assert button.bounding_box()["height"] >= 44
    cell = table.cell("layer.weight-matrix-rescaling")
    cell.scroll_into_view_if_needed()
    assert cell.bounding_box()["height"] >= 44
    cell.tap()
    table.settle()
    expect(table.title()).to_contain_text("Layer norm, all weights")
    soon(phone, lambda: in_sight(table.title(), 844))
    phone.get_by_role("button", name="= Yes, the same").tap()
    table.settle()
    phone.get_by_text("Right: the losses").wait_for()
    assert phone.evaluate("() => document.documentElement.scrollWidth") <= 390
    first, last = (table.cell(f"{row}.weight-matrix-rescaling").bounding_box() for row in ("none", "layer"))
    assert first["x"] >= 0
    assert table.cell("layer.case-rescaling").bounding_box()["x"] + last["width"] <= 390
