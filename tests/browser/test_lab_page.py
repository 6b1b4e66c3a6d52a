"""The tensor lab around the cube: links, themes, errors, small screens, accessibility."""

from axe_playwright_python.sync_playwright import Axe
from looks import barriers, change_theme
from patience import settle, visit
from playwright.sync_api import expect

from normviz.charts.palette import THEMES


def test_a_link_restores_the_whole_view(lab):
    link = (
        "?n=3&h=5&w=2&c=8&scheme=group&groups=4&eps=0.001&view=unfolded&colour=value&data=digits&seed=7&focus=2,4,1,5"
    )
    lab.open(link)
    page = lab.page
    page.get_by_role("heading", name="Group normalization", exact=True).wait_for()
    assert [page.get_by_label(label).input_value() for label in ("N batch", "H height", "W width")] == [
        "3",
        "5",
        "2",
    ]
    lab.soon(lambda: "n = 2  h = 4  w = 1  c = 5" in lab.readout)
    expect(page.locator(".stMain")).to_contain_text(
        "20 elements share one mean and variance: all h, w of example 2, channels 4 to 5"
    )
    lab.page.reload()
    lab.settle()
    lab.soon(lambda: "n = 2  h = 4  w = 1  c = 5" in lab.readout)


def test_what_is_done_stands_in_the_link(lab):
    lab.open()
    lab.pick("Group")
    lab.number("C channels", "12")
    lab.open_select("Groups", "6")
    lab.look("Several blocks")
    lab.page.wait_for_url("**view=unfolded**")
    for part in ("scheme=group", "c=12", "groups=6", "view=unfolded"):
        assert part in lab.page.url
    lab.pick("Batch")
    lab.page.wait_for_function("() => !location.search.includes('groups')")
    lab.pick("Group")
    lab.page.wait_for_function("() => location.search.includes('groups=6')")  # kept while it was not shown


def test_back_goes_back(lab):
    lab.open("?scheme=layer")
    lab.pick("Instance")
    lab.page.get_by_role("heading", name="Instance normalization", exact=True).wait_for()
    lab.page.wait_for_url("**scheme=instance**")
    lab.page.go_back()
    lab.page.get_by_role("heading", name="Layer normalization", exact=True).wait_for()


def test_a_bad_link_is_mended_with_a_note(lab):
    lab.open("?n=0&c=6&scheme=grop&groups=4&eps=-1&view=sideways&focus=9,9,9,9&colour=value")
    note = lab.page.locator(".st-key-replaced")
    for part in (
        "N batch: 0 is",
        "Scheme: grop is",
        "4 does not divide C = 6; 3 is",
        "−1 is too small; 0",
        "Locked",
    ):
        expect(note).to_contain_text(part)
    below = lab.box["y"]
    note.get_by_role("button", name="OK").click()
    expect(note.get_by_role("button")).to_have_count(0)
    assert lab.box["y"] == below  # nothing below has moved
    lab.page.get_by_role("heading", name="Group normalization", exact=True).wait_for()


def test_both_themes_and_no_barriers(lab):
    lab.open("?scheme=layer")
    for theme, colours in THEMES.items():
        change_theme(lab.page, theme)
        find = "gd => gd.data.find(t => t.name === "
        shown = [f"{find}'field').color", f"{find}'edges').line.color"]
        lab.soon(lambda shown=shown, colours=colours: [*map(lab.graph, shown)] == [colours.field, colours.ink])
        assert barriers(lab.page) == []
    found = Axe().run(lab.page, ".stMain")
    serious = [v for v in found.response["violations"] if v["impact"] in ("serious", "critical")]
    assert not serious, [(v["id"], [node["html"][:200] for node in v["nodes"]]) for v in serious]


def test_too_large_a_shape_is_refused_with_one_that_fits(lab):
    lab.open("?scheme=group&groups=3")
    lab.page.get_by_label("N batch").fill("60000")
    lab.page.keyboard.press("Enter")
    alert = lab.page.get_by_test_id("stAlert").first
    expect(alert).to_contain_text("60000 × 4 × 4 × 6")
    lab.do(lambda page: page.get_by_role("button", name="Use 682 × 4 × 4 × 6").click())
    expect(lab.page.get_by_label("N batch")).to_have_value("682")
    lab.page.wait_for_url("**n=682**")
    assert "scheme=group&groups=3" in lab.page.url  # the other choices stayed


def test_a_phone_shows_everything_without_scrolling_sideways(lab):
    lab.page.set_viewport_size({"width": 390, "height": 844})
    lab.open()
    lab.soon(lambda: lab.page.evaluate("() => document.scrollingElement.scrollWidth") <= 390)
    lab.soon(lambda: lab.box["width"] > 330)


def test_the_cube_stands_alone_in_a_frame(new_page, server):
    visit(new_page, f"{server}/?scheme=layer&only=cube")
    new_page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    settle(new_page)
    others = (
        "header, section[data-testid=stSidebar], h1, .st-key-toolbar, .st-key-takeaway, .st-key-look, .st-key-below"
    )
    assert not any(each.is_visible() for each in new_page.locator(others).all())
    assert "only=cube" in new_page.url
    assert "scheme=layer" in new_page.url
    assert new_page.locator(".st-key-cube").bounding_box()["width"] > 1100
