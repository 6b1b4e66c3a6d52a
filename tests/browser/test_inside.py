"""The cube pulled apart and cut: in the browser alone, kept in the link, and what is hidden can't be reached."""

import pytest
from patience import TWO_FRAMES
from playwright.sync_api import expect
from test_cube import element_of, lit_cells

TRACE = "gd => ['x', 'y', 'z'].map(d => Array.from(gd.data.find(t => t.name === '{}')[d]).filter(v => v !== null))"
REACTS = """() => { const { react } = window.Plotly; window.reacts = 0;
    window.Plotly.react = (...all) => { window.reacts += 1; return react(...all); }; }"""


def spans(lab, trace="cells"):
    """From where to where a trace reaches along x, y and z."""
    return [(min(along), max(along)) for along in lab.graph(TRACE.format(trace))]


def faces(lab):
    return len(lab.graph(TRACE.format("cells"))[0]) // 4


def slide(lab, axis, to):
    """Drag a slider: every place in between is told, and the last one is let go at."""
    lab.page.get_by_label(f"Cut away along {axis}").evaluate(
        """(input, to) => { for (let at = Number(input.value) + 1; at <= to; at++) {
        input.value = at; input.dispatchEvent(new Event("input", { bubbles: true })); } }""",
        to,
    )


def press(lab, name):
    lab.page.locator(".st-key-cube .nv-fold").evaluate("(part) => { part.open = true; }")
    lab.page.locator(".st-key-cube .nv-inside").get_by_role("button", name=name, exact=True).click()


def test_gaps_and_cuts_are_drawn_without_the_server_and_stand_in_the_link(lab):
    lab.open("?scheme=group&groups=3&colour=statistic").open_below()
    lab.page.evaluate(REACTS)
    sent, before, room = len(lab.sent), faces(lab), spans(lab)
    press(lab, "Fields")
    lab.soon(lambda: faces(lab) > before)
    assert [end for _, end in spans(lab)] == pytest.approx([end for _, end in room], abs=1e-4)
    whole = spans(lab, "edges")
    slide(lab, "C", 3)
    lab.soon(lambda: spans(lab)[0][0] > 2)
    lab.page.wait_for_url("**gaps=fields**")
    lab.page.wait_for_url("**cut=0%2C0%2C0%2C3**")
    lab.settle()
    assert len(lab.sent) - sent <= 2  # one for the button, one for all moves of the slider
    assert lab.page.evaluate("window.reacts") == 0
    assert spans(lab, "grid")[0][0] == pytest.approx(spans(lab)[0][0], abs=0.02)
    assert 0 < whole[0][1] < 3
    assert spans(lab, "edges")[0] == (0, 0)  # of the locked element's group nothing is left
    lab.page.reload()
    lab.settle()
    lab.soon(lambda: spans(lab)[0][0] > 2)
    expect(lab.page.locator(".st-key-cube .nv-inside button", has_text="Fields")).to_have_attribute(
        "aria-pressed", "true"
    )
    lab.choose("scheme", "Instance")  # other fields, other gaps
    lab.soon(lambda: faces(lab) > before)


def test_what_is_hidden_is_not_picked_or_walked_to_and_the_locked_element_stays(lab):
    lab.open("?scheme=batch&colour=value&cut=2,0,0,3")
    assert spans(lab, "element")[0][0] < 0.1  # (0, 0, 0, 0) is hidden, and drawn
    assert lab.page.locator(".nv-outline path").last.get_attribute("d")
    expect(lab.page.locator(".st-key-cube .nv-hidden")).to_be_visible()
    found = set()
    for across in (0.4, 0.45, 0.5, 0.55, 0.6, 0.65):
        for down in (0.3, 0.5, 0.7):
            lab.page.mouse.move(lab.box["x"] + across * lab.box["width"], lab.box["y"] + down * lab.box["height"])
            lab.page.evaluate(TWO_FRAMES)
            found.add(element_of(lab.readout))
    assert len(found) > 4
    assert all(index[0] >= 2 and index[3] >= 3 for index in found - {(0, 0, 0, 0)})
    lab.page.mouse.move(5, 5)
    lab.page.locator(".st-key-cube .nv-graph").focus()
    lab.page.keyboard.press("ArrowRight")
    lab.soon(lambda: element_of(lab.readout) == (2, 0, 0, 3))  # the nearest that is left
    lab.page.keyboard.press("Home")
    lab.page.keyboard.press("ArrowLeft")
    lab.page.evaluate(TWO_FRAMES)
    assert element_of(lab.readout) == (2, 0, 0, 3)
    assert all(x >= 3 and y >= 2 for x, y, _ in lit_cells(lab, "element"))
    lab.page.wait_for_url("**focus=2%2C0%2C0%2C3**")
    expect(lab.page.locator(".st-key-cube .nv-hidden")).to_be_hidden()


def test_a_cut_cube_collapses_and_comes_back(lab):
    lab.open("?colour=value&gaps=n,c&cut=0,0,0,2")
    page, whole = lab.page, spans(lab)
    page.get_by_role("button", name="Watch it happen").click()
    page.get_by_role("button", name="Pause").click()

    def scrub(position):
        page.locator(".st-key-cube .nv-stages").get_by_role("slider").evaluate(
            "(input, at) => { input.value = at; input.dispatchEvent(new Event('input')); }", position
        )

    scrub(1)
    lab.soon(lambda: spans(lab)[2][1] - spans(lab)[2][0] == pytest.approx(1, abs=1e-3))
    assert spans(lab)[0] == pytest.approx(whole[0], abs=1e-3)
    slide(lab, "C", 4)
    lab.soon(lambda: spans(lab)[0][0] > whole[0][0] + 1)
    scrub(2)
    lab.soon(lambda: spans(lab)[2] == pytest.approx(whole[2], abs=1e-3))
    page.wait_for_url("**cut=0%2C0%2C0%2C4**")  # no report is left for the next test to meet


def test_keys_move_a_slider_and_there_is_none_where_nothing_can_be_cut(lab):
    lab.open("?n=1&h=1&w=1&c=5&scheme=layer")
    sliders = lab.page.locator(".st-key-cube .nv-inside input")
    expect(sliders).to_have_count(1)
    expect(lab.page.locator(".st-key-cube .nv-inside button")).to_have_text(["C"])  # one field: nothing between fields
    lab.page.locator(".st-key-cube .nv-fold").evaluate("(part) => { part.open = true; }")
    sliders.focus()
    lab.page.keyboard.press("End")
    lab.soon(lambda: spans(lab)[0][0] == pytest.approx(4, abs=1e-4))  # one is left
    lab.page.wait_for_url("**cut=0%2C0%2C0%2C4**")
