"""How much pages jump: what the browser counts as layout shift while each page is opened and its controls are used.

.venv/bin/python benchmarks/shift.py [--url http://…] [--pages lab,compare] [--sources] [--smallest]
"""

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import nullcontext
from types import ModuleType
from typing import NamedTuple

import paths  # noqa: F401  (normviz and the helpers of the tests)
from browsing import browser, served
from playwright.sync_api import Page
from visit import PATIENCE

from normviz.topics.geometry import state as geometry
from normviz.topics.gradients import state as gradients
from normviz.topics.running import state as running
from normviz.topics.same import state as identities
from normviz.topics.weights import state as weights
from normviz.topics.why import state as why

Act = Callable[[Page], None]

WATCH = """
window.shifts = [];
const closest = (node, what) => (node?.nodeType === 1 ? node : node?.parentElement)?.closest(what);
const name = (node) => (node?.className.match?.(/st-key-[\\w-]+/) ?? [node?.dataset.testid])[0];
new PerformanceObserver((list) => {
  for (const { value, hadRecentInput, sources } of list.getEntries()) {
    const moved = sources.map(({ node, previousRect: a, currentRect: b }) =>
      `${name(closest(node, `[class*="st-key-"], [data-testid]`))} ${Math.round(a.top)}→${Math.round(b.top)}`);
    window.shifts.push({ value, recent: hadRecentInput, moved });
  }
}).observe({ type: "layout-shift", buffered: true });
"""
CONNECTED = '[data-testid="stApp"][data-test-connection-state="CONNECTED"]'
RUN_OVER = '[data-testid="stApp"][data-test-script-state="notRunning"]'
REST = 700
"""ms for which nothing more has to come, until a step is over; longer than an input excuses what moves."""


class Step(NamedTuple):
    """An action on a page, and what moved after it.

    Attributes:
        page, what: where, and what was done.
        all: the sum of the shifts.
        unasked: of these, what no input of the last half second excuses.
        moved: what moved.
    """

    page: str
    what: str
    all: float
    unasked: float
    moved: list[str]


def pick(name: str) -> Act:
    """Choose an option, or a tab, by its name."""
    named = re.compile(rf"^{re.escape(name)}$")
    return lambda page: page.locator("button, [role=tab]", has_text=named).first.click()


def pick_scheme(name: str) -> Act:
    """Choose a scheme by its label, on its pill or in the menu of all others."""

    def act(page: Page) -> None:
        pill = page.locator(".st-key-scheme button", has_text=re.compile(f"^{re.escape(name)}$"))
        if pill.count():
            pill.click()
            return
        page.get_by_role("combobox", name="More normalizations").click()
        page.get_by_role("option", name=re.compile(rf": {re.escape(name)}( –|$)")).click()

    return act


def pick_option(name: str) -> Act:
    """Choose one of a list of options."""
    return lambda page: page.locator(".stRadio label").get_by_text(name, exact=True).click()


def look(name: str) -> Act:
    """Choose a colour in the menu over the cube of the lab."""

    def act(page: Page) -> None:
        page.locator(".st-key-look button").first.click()
        page.get_by_test_id("stPopoverBody").locator("button", has_text=re.compile(f"^{re.escape(name)}$")).click()
        page.keyboard.press("Escape")

    return act


def panels(state: ModuleType) -> dict[str, Act]:
    """Return a choice of every panel of a page, the first one last."""
    names, advanced = vars(state).get("PANELS") or state.SHOWN, vars(state).get("ADVANCED", ())
    first, *others = (name for key, name in names.items() if key not in advanced)
    hidden = ["Advanced", *(names[key] for key in advanced)] if advanced else []
    return {f"panel {name}": pick(name) for name in (*others, *hidden, first)}


def open_advanced(page: Page) -> None:
    """Open the rarer settings in the sidebar."""
    page.get_by_test_id("stSidebar").get_by_text("Advanced", exact=True).click()


def enter(label: str, value: str) -> Act:
    """Type a number."""

    def act(page: Page) -> None:
        field = page.get_by_label(label, exact=True)
        if not field.is_visible():
            open_advanced(page)
        field.fill(value)
        field.press("Enter")

    return act


def retrain(page: Page) -> None:
    """Train all networks of Table 1 anew, from another seed."""
    page.get_by_text("Advanced", exact=True).click()
    page.get_by_label("Seed", exact=True).wait_for()
    enter("Seed", "8")(page)


def play(page: Page) -> None:
    """Play for a while, and stand still."""
    page.get_by_role("button", name="Play", exact=True).click()
    page.wait_for_timeout(1500)
    page.get_by_role("button", name="Pause", exact=True).click()


def run(page: Page) -> None:
    """Run an experiment to its end."""
    page.get_by_role("button", name="Run · about").click()
    page.get_by_text("The result is cached").wait_for(timeout=PATIENCE)


SCHEMES = (
    "Layer",
    "Layer (channels)",
    "Instance",
    "Group",
    "RMS",
    "Divisive",
    "Weight",
    "Spectral",
    "Custom",
    "No norm",
)
TABS = ("Distribution", "Response", "Picture", "Formula", "Parameters and state", "Code", "Statistics")
VISITS: dict[str, tuple[str, dict[str, Act]]] = {
    "lab": (
        "",
        {
            **{f"scheme {name}": pick_scheme(name) for name in (*SCHEMES, "Batch")},
            **{f"tab {name}": pick(name) for name in TABS},
            **{f"colour {name}": look(name) for name in ("Statistic", "x", "x̂", "Field")},
        },
    ),
    "lab, values replaced": ("?n=0&scheme=grup&groups=5", {"a length": enter("N batch", "3")}),
    "lab, groups replaced": ("?scheme=group&groups=3", {"what does not divide": enter("C channels", "4")}),
    "compare": (
        "compare",
        {"advanced": open_advanced} | {f"colour {name}": pick(name) for name in ("Statistic", "x", "x̂", "Field")},
    ),
    "identities": ("identities", panels(identities)),
    "variants": ("identities?panel=variants", {"length": enter("N batch", "3")}),
    "invariance": (
        "invariance?steps=20&seed=7",
        {"guess": pick("= Yes, the same"), "training anew": retrain, "panel": pick("Effect of δ")},
    ),
    "why": ("why", panels(why)),
    "gradients": ("gradients?show=graph", {"play": play, **panels(gradients)}),
    "geometry": ("geometry", panels(geometry)),
    "experiments": (
        "experiments?batch_size_steps=20&batch_size_equal=steps&batch_size_seeds=2",
        {f"experiment {name}": pick_option(name) for name in ("Speed", "Modes of a GAN", "Batch size")} | {"run": run},
    ),
    "running": ("running", {"play": play, **panels(running)}),
    "weights": ("weights", {"play": play, **panels(weights)}),
    "divisive": ("divisive", {"seed": enter("Seed", "1")}),
    "design": (
        "design",
        {name: pick_option(name) for name in ("All pictures get brighter", "All weights are doubled")},
    ),
    "claims": ("claims?claim=L04&source=003", {"verdict": pick("✘ Wrong"), "seed": enter("First seed", "1")}),
}
"""By name: the address, and what is done there, one after the other."""


def visit(page: Page, url: str, name: str, most: int | None = None) -> Iterator[Step]:
    """Open a page and do what its visit says, at most so many things; what moved at each of them."""
    address, acts = VISITS[name]
    page.goto(f"{url}/{address}")
    page.wait_for_selector(CONNECTED)
    yield _step(page, name, "opening")
    for what, act in list(acts.items())[:most]:
        act(page)
        yield _step(page, name, what)


def _step(page: Page, name: str, what: str) -> Step:
    """Wait until all is quiet, and take what has moved since the last step."""
    page.wait_for_timeout(200)
    page.wait_for_selector(RUN_OVER)
    page.wait_for_function("() => !document.querySelector('.nv-plot[data-drawing]')")
    page.wait_for_timeout(REST)
    page.wait_for_selector(RUN_OVER)
    shifts = page.evaluate("() => window.shifts.splice(0)")
    everything, unasked = (
        sum(each["value"] for each in shifts if asked or not each["recent"]) for asked in (True, False)
    )
    return Step(name, what, everything, unasked, [text for each in shifts for text in each["moved"]])


def watching(page: Page) -> Page:
    """Let a page record what moves, from its next address on, and return it."""
    page.set_default_timeout(PATIENCE / 5)
    page.add_init_script(WATCH)
    return page


def main() -> None:
    """Visit the pages and print what moved."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--url", help="of an app that is served already")
    parser.add_argument("--pages", help="names of visits, with commas between them")
    parser.add_argument("--sources", action="store_true", help="also say what moved, on stderr")
    parser.add_argument("--smallest", action="store_true")
    asked = parser.parse_args()
    names = asked.pages.split(",") if asked.pages else ["identities"] if asked.smallest else list(VISITS)
    steps: list[Step] = []
    with nullcontext(asked.url) if asked.url else served("app.py") as url, browser() as chromium:
        for name in names:
            context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
            with context:
                steps += visit(watching(context.new_page()), url, name, 1 if asked.smallest else None)
    _print("Layout shift of a visit", _sums(steps, names))
    _print("Where it comes from", [["page", "what", "shift", "of it unasked"], *map(_row, steps)])
    if asked.sources:
        for step in steps:
            if step.all > 0.001:
                print(f"{step.page}, {step.what}: {step.all:.3f}", *step.moved, sep="\n  ", file=sys.stderr)


def _sums(steps: Sequence[Step], names: Sequence[str]) -> Iterator[list[str]]:
    yield ["page", "shift", "of it unasked", "steps"]
    for name in names:
        its = [step for step in steps if step.page == name]
        yield [name, f"{sum(s.all for s in its):.3f}", f"{sum(s.unasked for s in its):.3f}", str(len(its))]


def _row(step: Step) -> list[str]:
    return [step.page, step.what, f"{step.all:.4f}", f"{step.unasked:.4f}"]


def _print(title: str, rows: Sequence[list[str]] | Iterator[list[str]]) -> None:
    head, *others = rows
    print(f"\n**{title}**\n")
    for row in (head, ["---"] * len(head), *others):
        print(f"| {' | '.join(row)} |".replace("| --- ", "|---").replace("--- |", "---|"))


if __name__ == "__main__":
    main()
