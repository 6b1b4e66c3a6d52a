"""Record the README's moving pictures: `.venv/bin/python docs/record.py`.

The app is served, Chromium shows it, and every picture is a screenshot: the cube of batch normalization collapses to
its statistics and comes back, docs/tensor-lab.webp; a case of Table 1 trains, step by step, docs/table-1.webp; and the
cubes of the common schemes stand still, docs/gallery-batch.webp and others.
"""

import io
import sys
from collections.abc import Callable
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "browser")]
from browsing import browser, served  # noqa: E402  (of the tests)
from patience import settle  # noqa: E402
from playwright.sync_api import Page  # noqa: E402
from runs import Runs  # noqa: E402

from normviz.topics.table1.panels import GUESS_WORDS  # noqa: E402
from normviz.ui.scheme_picker import COMMON_SCHEMES  # noqa: E402

WIDTH, QUALITY = 800, 55
TICK, REST, END = 70, 1400, 3000
"""Milliseconds that a picture of a movement stands, one at a stage, and the last one."""

MOVE = 12
"""Pictures from stage to stage."""

BOARD = 600
"""Height of the recorded part of Table 1, in pixels."""

STRIDE = 2
"""Steps of the training from picture to picture."""

TITLE = 30
"""Height of the line above a cube, in pixels."""

Picture = tuple[Image.Image, int]
"""A picture of the page, and how long it stands, in ms."""


def taken(page: Page, clip: dict) -> Image.Image:
    """Take a picture of the page, at the width of the recording."""
    picture = Image.open(io.BytesIO(page.screenshot(clip=clip))).convert("RGB")
    return picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)), Image.Resampling.LANCZOS)


def moved(page: Page, slider: str, at: float, patience: int) -> None:
    """Set the slider of a player, and give the page so many ms to follow."""
    page.locator(slider).evaluate(
        "(input, at) => { input.step = 'any'; input.value = at; input.dispatchEvent(new Event('input')); }", at
    )
    page.wait_for_timeout(patience)


def lab(page: Page, url: str) -> list[Picture]:
    """Record all stages of the computation in the tensor lab, and the movement between them."""
    page.goto(url + "/?colour=value")
    page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    settle(page)
    page.get_by_role("button", name="Watch it happen").click()
    page.get_by_role("button", name="Pause").click()
    settle(page)
    whole = page.locator(".st-key-cube .nv-plot").bounding_box() or {}
    clip = {"x": 330, "y": whole["y"] - 90, "width": 940, "height": whole["height"] + 100}
    slider, found = ".st-key-cube .nv-stages input", []
    for k in range(int(page.locator(slider).get_attribute("max") or 0) * MOVE + 1):
        moved(page, slider, k / MOVE, 400 if k % MOVE in (0, 1) else 150)
        found.append((taken(page, clip), TICK if k % MOVE else REST))
    return found


def table(page: Page, url: str) -> list[Picture]:
    """Record the training of a case of Table 1 that batch norm does not cancel, from before its first step."""
    page.goto(url + "/invariance?cell=batch.case-rescaling")
    page.wait_for_selector(".st-key-grid .nv-grid[data-drawn]")
    page.locator(".st-key-training", has_text="Trained on").wait_for()
    page.get_by_role("button", name=GUESS_WORDS["no"]).click()
    page.wait_for_selector(".st-key-curves .nv-twins[data-drawn]")
    settle(page)
    page.get_by_role("button", name="Watch them train").click()
    page.get_by_role("button", name="Pause").click()
    board = page.locator(".st-key-board").bounding_box() or {}
    clip = {"x": board["x"] - 12, "y": board["y"] - 12, "width": board["width"] + 24, "height": BOARD}
    slider, found = ".nv-twins .nv-bar input", []
    for k in range(0, int(page.locator(slider).get_attribute("max") or 0) + 1, STRIDE):
        moved(page, slider, k, 60)
        found.append((taken(page, clip), TICK))
    return [(found[0][0], REST), *found[1:-1], (found[-1][0], END)]


def record_scheme(key: str) -> Callable[[Page, str], list[Picture]]:
    """Return a function that takes one picture of the cube of a scheme."""

    def record(page: Page, url: str) -> list[Picture]:
        page.goto(f"{url}/?scheme={key}&colour=statistic")
        page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
        settle(page)
        whole = page.locator(".st-key-cube .nv-plot").bounding_box() or {}
        button = page.get_by_role("button", name="Watch it happen").bounding_box() or {}
        top = whole["y"] + TITLE
        return [(taken(page, {**whole, "y": top, "height": button["y"] - top}), REST)]

    return record


RECORDED: dict[str, tuple[Callable[[Page, str], list[Picture]], dict]] = {
    "tensor-lab": (lab, {"width": 1280, "height": 1000}),
    "table-1": (table, {"width": 1280, "height": 800}),
} | {f"gallery-{key}": (record_scheme(key), {"width": 1280, "height": 1000}) for key in COMMON_SCHEMES}
"""By file: what is recorded, and the size of the window."""


def main() -> None:
    """Write the pictures beside this script; those that are named, or all."""
    with served(str(ROOT / "app.py")) as url, browser() as chromium:
        for name in sys.argv[1:] or RECORDED:
            record, size = RECORDED[name]
            page = chromium.new_page(viewport=size)
            Runs(page)  # which `settle` waits for
            found = record(page, url)
            page.close()
            (first, *others), stand = [picture for picture, _ in found], [stands for _, stands in found]
            path = Path(__file__).with_name(f"{name}.webp")
            first.save(path, save_all=True, append_images=others, duration=stand, loop=0, quality=QUALITY)
            print(f"{path.name}: {len(found)} pictures, {path.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
