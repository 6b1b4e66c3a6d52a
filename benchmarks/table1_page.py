"""How soon the Table 1 page is useful, and how fast it follows δ: `.venv/bin/python benchmarks/table1_page.py`.

A fresh server, and a browser with an empty cache. In milliseconds, from the start of the navigation: until the title is
there, which is Streamlit's own start; until the map of the cases is; and until all is
trained. For the server's first visitor, who waits for torch to be imported, and for later ones. Then an arrow key moves
δ: from the key press until the map shows the new change, and all is trained.
"""

import argparse
from statistics import median

import paths  # noqa: F401  (normviz and the helpers of the tests)
from browsing import browser, served
from playwright.sync_api import Browser, Page
from visit import PATIENCE

WATCH = """() => {
  window.seen = {};
  const look = () => {
    const grid = [...document.querySelectorAll('.st-key-grid *')].find((e) => e.shadowRoot)?.shadowRoot
      .querySelector('.nv-grid[data-drawn]');
    if (document.querySelector('h1')) window.seen.title ??= performance.now();
    if (grid) {
      window.seen.grid ??= performance.now();
      const trained = document.querySelector('.st-key-training')?.innerText.startsWith('Trained on');
      if (trained) window.seen.trained ??= performance.now();
      const text = grid.innerText;
      if (text !== window.seen.text && trained) {
        window.seen.text = text; window.seen.changed = performance.now();
      }
    }
    requestAnimationFrame(look);
  };
  requestAnimationFrame(look);
}"""


STEPS = 3
"""Steps of δ in a visit."""


def visit(chromium: Browser, url: str) -> tuple[Page, dict]:
    """Open the page; when the grid was there, and when it was trained."""
    page = chromium.new_context(viewport={"width": 1280, "height": 900}).new_page()
    page.add_init_script(f"({WATCH})()")
    page.goto(f"{url}/invariance")
    page.wait_for_function("() => window.seen?.trained", timeout=PATIENCE)
    return page, page.evaluate("() => window.seen")


def follow(page: Page) -> float:
    """One step of δ by the arrow key; the time until the grid shows it."""
    page.wait_for_timeout(700)
    slider = page.locator(".st-key-delta input")
    if not slider.is_visible():
        page.get_by_text("Advanced", exact=True).click()
        slider.wait_for()
        page.wait_for_timeout(700)
    slider.focus()
    start = page.evaluate("() => performance.now()")
    slider.press("ArrowRight")
    page.wait_for_function("start => window.seen.changed > start", arg=start, timeout=PATIENCE)  # not one before it
    return page.evaluate("() => window.seen.changed") - start


def main() -> None:
    """Print a table for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smallest", action="store_true", help="one visit of one step: does it run to its end?")
    options = parser.parse_args()
    rounds, steps = (1, 1) if options.smallest else (options.rounds, STEPS)
    with served("app.py") as url, browser() as chromium:
        page, first = visit(chromium, url)
        page.context.close()
        later, followed = [], []
        for _ in range(rounds):
            page, seen = visit(chromium, url)
            later.append(seen)
            followed += [follow(page) for _ in range(steps)]
            page.context.close()
    print("| what | median, ms | least | most |\n|---|---|---|---|")
    marks = {"title": "Streamlit's own start, up to the title", "grid": "… the grid", "trained": "… trained"}
    rows = {f"first visitor: {words}": [first[mark]] for mark, words in marks.items()}
    rows |= {f"later visitors: {words}": [seen[mark] for seen in later] for mark, words in marks.items()}
    for what, times in (rows | {"one step of δ: retrained and shown": followed}).items():
        print(f"| {what} | {median(times):.0f} | {min(times):.0f} | {max(times):.0f} |")


if __name__ == "__main__":
    main()
