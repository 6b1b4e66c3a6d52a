"""How a page looks: changing its theme, and what keeps people from using it."""

from axe_playwright_python.sync_playwright import Axe
from patience import settle, soon
from playwright.sync_api import Page

LIGHTNESS = """() => {
    const colour = getComputedStyle(document.querySelector('.stApp')).backgroundColor;
    return colour.match(/\\d+/g).slice(0, 3).reduce((sum, part) => sum + Number(part), 0) / 3;
}"""

CUT = """() => [...document.querySelectorAll('.nv-graph')].flatMap((graph) => {
  const { left, right } = graph.getBoundingClientRect();
  const texts = [...graph.querySelectorAll('text')].filter((text) => text.textContent.trim());
  return texts.map((text) => [text.textContent, text.getBoundingClientRect()])
    .filter(([, box]) => box.left < left - 1 || box.right > right + 1).map(([name]) => name);
})"""

CONTROLS = """() => {
  const seen = [...document.querySelectorAll("button, input, select, textarea, a[href], summary, [role=slider]")]
    .filter((each) => {
      const { left, right, top, bottom, width, height } = each.getBoundingClientRect();
      const isInside = bottom > 0 && right > 0 && top < innerHeight && left < innerWidth && width > 2 && height > 2;
      return isInside && each.checkVisibility({ opacityProperty: true, visibilityProperty: true });
    });
  return seen.filter((each) => !seen.some((other) => other !== each && other.contains(each)))
    .filter((each) => !each.closest(".stSelectbox, .stMultiSelect") || each.matches("input"))  // not the arrow
    .map((each) => each.getAttribute("aria-label") || each.textContent);
}"""
"""The controls in the window, by their labels."""


def change_theme(page: Page, theme: str) -> None:
    """Show a page as a system with this theme would, until nothing changes or moves any more."""
    page.emulate_media(color_scheme=theme)
    soon(page, lambda: (page.evaluate(LIGHTNESS) > 128) == (theme == "light"))
    settle(page)
    page.wait_for_function(
        "() => document.getAnimations().every((a) => a.playState !== 'running'"
        " || a.effect.getComputedTiming().iterations === Infinity)"
    )


def barriers(page: Page) -> list[tuple[str, list[str]]]:
    """What axe finds against WCAG 2, levels A and AA."""
    found = Axe().run(page, options={"runOnly": ["wcag2a", "wcag2aa"]}).response["violations"]
    return [(each["id"], [node["html"][:200] for node in each["nodes"]]) for each in found]


def cut_off(page: Page) -> list[str]:
    """The words of figures that reach beyond the figure they are in."""
    return page.evaluate(CUT)
