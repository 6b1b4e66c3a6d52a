"""The lessons as static files, opened as a file in a browser without a network."""

import pytest
from patience import drag

from normviz.classroom.lessons.catalogue import read_shipped_lessons
from normviz.classroom.site.site import PAGE_FILE, PICTURE_FOLDER, build_site

KEY = "what-is-averaged"
DRAWN = "#picture:not([data-drawing]) .nv-plot[data-drawn]:not([data-drawing])"
EYE = "document.querySelector('.nv-graph')._fullLayout.scene._scene.getCamera().eye"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with one lesson."""
    out = tmp_path_factory.mktemp("site")
    (out / PICTURE_FOLDER).mkdir()
    for path, content in build_site([read_shipped_lessons()[KEY]]):
        (out / path).write_bytes(content)
    return out


def test_a_lesson_is_played_without_a_server_or_a_network(context, folder):
    address, asked, errors = (folder / PAGE_FILE).as_uri(), [], []
    place = context.browser.new_context(viewport={"width": 960, "height": 600}, offline=True)
    page = place.new_page()
    page.on("request", lambda request: asked.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.goto(address)
    page.get_by_role("link", name="What is averaged?").click()
    assert page.url == f"{address}#{KEY}/1"
    page.wait_for_selector(DRAWN)
    step = page.locator("section.shown")
    right, wrong = (step.locator("button", has_text=text) for text in ("64", "16"))
    reason = step.get_by_text("N · H · W = 4 · 4 · 4 = 64")
    assert not reason.is_visible()

    wrong.click()  # first an answer, then the reason and the picture that shows it
    step.get_by_text("These are the 4 × 4 positions").wait_for()
    page.keyboard.press("2")
    reason.wait_for()
    assert right.get_attribute("aria-pressed") == "true"
    assert wrong.get_attribute("aria-pressed") == "false"
    page.get_by_text("C (channels)").first.wait_for()
    page.wait_for_selector(DRAWN)

    before = page.evaluate(EYE)  # the picture turns, lights up under the pointer, and plays
    box = page.locator(".nv-graph").bounding_box()
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    page.mouse.move(x, y)
    page.wait_for_selector(".nv-plot[data-by=pointer]", state="attached")
    drag(page, (x, y), (x + 120, y))
    page.wait_for_function(f"before => {EYE}.x !== before.x", arg=before)
    page.get_by_role("button", name="Watch it happen").click()
    page.get_by_role("button", name="Pause").wait_for()

    assert page.url == f"{address}#{KEY}/1/2"  # the step and the answer
    page.get_by_role("heading", name="How many numbers").press("n")
    page.wait_for_url(f"{address}#{KEY}/2")
    step.get_by_text("Step 2 of 7").wait_for()
    page.go_back()
    reason.wait_for()
    place.close()
    assert errors == []
    assert asked
    assert all(each.startswith((folder.as_uri(), "data:", "blob:")) for each in asked)
