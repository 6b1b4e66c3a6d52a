"""Record the README's moving picture: `.venv/bin/python docs/record.py`.

The app is served, Chromium shows it, and every picture is a screenshot: the cube of batch normalization collapses to
its statistics and comes back; docs/tensor-lab.webp.
"""

import io
import sys
from pathlib import Path

from PIL import Image

ROOT = Path(__file__).parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "tests"), str(ROOT / "tests" / "browser")]
from browsing import browser, served  # noqa: E402  (of the tests)
from patience import settle  # noqa: E402
from playwright.sync_api import Page  # noqa: E402

LINK = "/?colour=value"
SIZE, CLIP = {"width": 1280, "height": 790}, {"x": 330, "y": 55, "width": 940, "height": 710}
WIDTH, QUALITY = 800, 55
MOVE, REST = 12, 1400
"""Pictures from stage to stage, and how long each stage stands, in ms."""

TICK = 70
"""How long a picture of a movement stands, in ms."""


def taken(page: Page) -> Image.Image:
    """What the page shows, at the width of the recording."""
    picture = Image.open(io.BytesIO(page.screenshot(clip=CLIP))).convert("RGB")
    return picture.resize((WIDTH, round(WIDTH * picture.height / picture.width)), Image.Resampling.LANCZOS)


def stages(page: Page) -> list[tuple[Image.Image, int]]:
    """All stages of the computation, and the way from each to the next, with how long each picture stands."""
    page.get_by_role("button", name="Watch it happen").click()
    page.get_by_role("button", name="Pause").click()
    slider = page.locator(".st-key-cube .nv-stages input")
    last, found = int(slider.get_attribute("max") or 0), []
    for step in range(last * MOVE + 1):
        slider.evaluate("(input, at) => { input.value = at; input.dispatchEvent(new Event('input')); }", step / MOVE)
        page.wait_for_timeout(400 if step % MOVE in (0, 1) else 150)
        found.append((taken(page), TICK if step % MOVE else REST))
    return found


def main() -> None:
    """Write the picture beside this script."""
    with served(str(ROOT / "app.py")) as url, browser() as chromium:
        page = chromium.new_page(viewport=SIZE)
        page.goto(url + LINK)
        page.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
        settle(page)
        page.locator(".st-key-cube .nv-stages input").evaluate("input => { input.step = 'any'; }")
        found = stages(page)
    first, *others = (picture for picture, _ in found)
    path = Path(__file__).with_name("tensor-lab.webp")
    first.save(
        path, save_all=True, append_images=others, duration=[stands for _, stands in found], loop=0, quality=QUALITY
    )
    print(f"{path.name}: {len(found)} pictures, {path.stat().st_size / 2**20:.1f} MB")


if __name__ == "__main__":
    main()
