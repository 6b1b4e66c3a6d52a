"""The lab's first screen, 1280 × 800 with nothing scrolled: what it shows whole, and how many controls it has."""

import pytest
from conftest import Lab
from looks import CONTROLS
from playwright.sync_api import expect
from watching import watched

from normviz.core.registry import SCHEMES
from normviz.ui.scheme_picker import COMMON_SCHEMES

SIZE = {"width": 1280, "height": 800}
MOST = 25
LENGTHS = ("N batch", "H height", "W width", "C channels")


@pytest.fixture
def first(lab):
    lab.page.set_viewport_size(SIZE)
    return lab.open()


def test_shape_schemes_cube_play_and_formula_are_in_sight_and_little_else(first):
    page = first.page
    for label in LENGTHS:
        expect(page.get_by_label(label, exact=True)).to_be_in_viewport(ratio=1)
    for key in COMMON_SCHEMES:
        expect(page.locator(".st-key-scheme").get_by_text(SCHEMES[key].label, exact=True)).to_be_in_viewport(ratio=1)
    cube = page.locator(".st-key-cube .nv-graph")
    expect(cube).to_be_in_viewport(ratio=1)
    assert cube.bounding_box()["height"] >= 440
    for part in (page.get_by_role("button", name="Watch it happen"), page.locator(".nv-chain li").last):
        expect(part).to_be_in_viewport(ratio=1)
    expect(page.locator(".nv-element .nv-line").last).to_be_in_viewport(ratio=1)
    expect(page.locator(".stMain")).to_contain_text("Afterwards every channel has mean 0 and variance 1.")
    found = page.evaluate(CONTROLS)
    assert len(found) <= MOST, found


def test_what_is_below_is_computed_once_it_comes_into_sight(first):
    page = first.page
    expect(page.locator(".st-key-statistics-map")).to_have_count(0)
    page.locator(".nv-sight").scroll_into_view_if_needed()
    expect(page.locator(".st-key-statistics-map .nv-graph")).to_be_visible()


def test_tab_goes_through_the_lengths_in_their_order(first):
    page, found = first.page, []
    page.get_by_label(LENGTHS[0], exact=True).focus()
    for _ in range(12):
        label = page.evaluate("document.activeElement.getAttribute('aria-label')")
        if label in LENGTHS:
            found.append(label)
        page.keyboard.press("Tab")
    assert found == list(LENGTHS)


def test_titles_of_averaged_axes_have_the_fields_colour_and_kept_ones_are_grey(first):
    fill = """() => Object.fromEntries([...document.querySelectorAll(".nv-labels .nv-title")]
      .map((text) => [text.textContent, text.style.fill]))"""
    titles = first.page.evaluate(fill)
    field, kept = titles["N (batch)"], titles["C (channels)"]
    assert field != kept
    averaged, apart = ("H and W", "(positions)", "averaged", "N (batch)"), ("C (channels)", "kept")
    assert titles == dict.fromkeys(averaged, field) | dict.fromkeys(apart, kept)
    colour = first.graph("gd => gd.data.find(t => t.name === 'field').color")
    assert field == f"rgb{tuple(bytes.fromhex(colour[1:]))}"


def test_the_marked_element_is_labelled_and_the_label_follows_the_stage(first):
    note = first.page.locator(".nv-labels .nv-note")
    value = first.readout.split("x = ")[1].split()[0]
    expect(note).to_have_text(f"x = {value}")
    first.page.get_by_role("button", name="Watch it happen").click()
    first.page.get_by_role("button", name="Pause").click()
    first.page.locator(".nv-stages input").evaluate(
        "(input) => { input.value = 2; input.dispatchEvent(new Event('input')); }"
    )
    mean = first.page.locator(".nv-statistics").inner_text().split("=")[1].split()[0]
    expect(note).to_have_text(f"μ = {mean}")
    expect(first.page.locator(".st-key-cube .nv-board")).to_be_in_viewport(ratio=1)
    expect(first.page.locator(".st-key-cube .nv-told p")).to_be_in_viewport(ratio=1)
    first.page.get_by_role("button", name="Close").click()
    expect(note).to_have_text(f"x = {value}")


def test_a_rare_scheme_is_found_by_a_search_and_chosen_with_the_keyboard(first):
    page = first.page
    menu = page.get_by_role("combobox", name="More normalizations")
    menu.focus()
    page.keyboard.type("spectr")
    expect(page.get_by_role("option")).to_have_count(1)
    first.do(lambda page: page.keyboard.press("Enter"))
    page.wait_for_url("**scheme=spectral**")
    page.get_by_role("heading", name="Spectral normalization", exact=True).wait_for()
    expect(menu).to_have_value("Weights: Spectral – ÷ σ₁")


PHONE = "Mozilla/5.0 (iPhone; CPU iPhone OS 17_0 like Mac OS X) AppleWebKit/605.1.15 Mobile/15E148"


@pytest.fixture
def handheld(context, server):
    place = context.browser.new_context(
        viewport={"width": 390, "height": 844}, has_touch=True, is_mobile=True, user_agent=PHONE
    )
    with watched(place) as page:
        yield Lab(page, server).open()
    place.close()


def test_on_a_phone_shape_and_scheme_stand_above_the_cube_without_hints_for_keys(handheld):
    page = handheld.page
    tops = [page.get_by_label(label, exact=True).bounding_box()["y"] for label in LENGTHS]
    pills = page.locator(".st-key-scheme").get_by_text(SCHEMES[COMMON_SCHEMES[-1]].label, exact=True)
    for part in (*(page.get_by_label(label, exact=True) for label in LENGTHS), pills):
        expect(part).to_be_in_viewport(ratio=1)
    assert len(set(tops)) == 1  # beside each other
    assert tops[0] < pills.bounding_box()["y"] < handheld.box["y"] < 844
    for part in (page.locator(".st-key-cube .nv-graph"), page.get_by_role("button", name="Watch it happen")):
        expect(part).to_be_in_viewport(ratio=1)
    assert page.evaluate("() => document.scrollingElement.scrollWidth") <= 390
    expect(page.locator(".nv-keys")).to_be_hidden()
    expect(page.locator(".nv-taps")).to_be_visible()
    handheld.do(lambda page: page.locator(".st-key-scheme").get_by_text("Layer", exact=True).tap())
    page.wait_for_url("**scheme=layer**")
