"""Random links, valid and hostile, and random clicks, over every page: what each costs, and whether the page is there.

A page runs without a browser, in this process; what it takes is the processor's time, so that other work on the machine
does not count.
"""

import gc
import random
import time
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from lab_page import ROOT, plots
from streamlit.testing.v1 import AppTest

from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.core.settings import Choice, MultipleChoice, NumberChoice, Real, Switch
from normviz.topics.claims import state as claims
from normviz.topics.compare import state as compare
from normviz.topics.design import state as design
from normviz.topics.divisive import state as divisive
from normviz.topics.experiments import state as experiments
from normviz.topics.geometry import state as geometry
from normviz.topics.gradients import state as gradients
from normviz.topics.lab import state as lab
from normviz.topics.model import state as model
from normviz.topics.running import state as running
from normviz.topics.same import state as identities
from normviz.topics.table1 import state as table1
from normviz.topics.weights import state as weights
from normviz.topics.why import state as why
from normviz.ui.link import Param, clean_values

STATES: dict[str, ModuleType] = {
    "tensor_lab": lab,
    "compare": compare,
    "identities": identities,
    "why": why,
    "experiments": experiments,
    "invariance": table1,
    "gradients": gradients,
    "geometry": geometry,
    "running": running,
    "model": model,
    "weights": weights,
    "divisive": divisive,
    "claims": claims,
    "design": design,
}
"""What the link of a page holds, by the page's script."""

TYPED = {"identities": {"panel": "own"}}
"""What else is in a link for the page to quote a text that is typed."""

FIGURES = {
    "tensor_lab": {"cube"},
    "compare": {"cubes"},
    "why": {"learning", "before", "bands", "bias", "lines"},
    "invariance": {"grid table"},
    "geometry": {"space", "lengths"},
    "running": {"stream", "effect"},
    "gradients": {"incoming", "chain", "jacobian"},
    "weights": {"plane", "ellipses"},
    "divisive": {"response"},
}
"""What a page is for: one of these figures is there."""

WORDS = {
    "identities": (
        "Same: equal normalized values",
        "up to rounding",
        "same on this shape",
        "It was",
        "Normalized over",
        "None of",
        "Cannot tell",
    ),
    "claims": (" claims:",),
    "design": ("### ",),
    "model": ("found in this model and its", "1. Write a function"),
    "gradients": ("#### 1. Compute",),
    "why": ("### Batch norm came in",),
}
"""Words of panels without figures, one for each panel."""

HOSTILE = (
    "", " ", "nan", "inf", "-inf", "1e999", "-1e999", "9" * 400, "-1", "0", "1.5", "1e5", "65536", "½", "٣", "0x10",
    "NaN,NaN,NaN,NaN", ",,,,,", "true", "None", "null", "[]", "{}", "../../etc/passwd", "..%2f..%2f", "/", "\x00", "\n",
    "<script>alert(1)</script>", "$\\frac{1}{0}$", "💥" * 50, "\u202e", "groups(65536)", "groups(0)", "window(99999)",
    "window(-1)", "N=window(30000)", "N=full,N=own", "=", "bach", "layer_norm", "LAYER", "x" * 100_000, "1," * 50_000,
    "9" * 100_000, "full," * 20_000,
)  # fmt: skip
LENGTHS = (1, 2, 3, 7, 8, 16, 64, 256, 1024, 8192, 65_536)
"""Of axes."""

HALVINGS = 16
"""The largest tensor that is drawn has two to the power of this many elements."""

ODD = 0.15
"""How often a value is hostile, and a shape of any lengths: others have as many elements as are drawn, or fewer."""

WIDGETS = (
    "number_input", "selectbox", "multiselect", "slider", "select_slider", "toggle", "text_input", "segmented_control",
    "pills", "button",
)  # fmt: skip


class Run(NamedTuple):
    """One run of a page: what was done, seconds of the processor, MB that it held at most beyond those before.

    `fault`: what is wrong with what is shown; empty where nothing is.
    """

    page: str
    what: str
    seconds: float
    megabytes: float
    fault: str


def link_of(page: str, rng: random.Random) -> dict[str, Any]:
    """A link to a page: some of its values, and sometimes one that it does not have, or one that is there twice."""
    params = STATES[page].PARAMS
    chosen = rng.sample(params, rng.randint(0, len(params)))
    link: dict[str, Any] = {}
    if rng.random() > ODD and {"n", "h", "w", "c"} <= {param.name for param in params}:
        cuts = sorted(rng.randint(0, HALVINGS) for _ in range(3))
        lengths = (2 ** (b - a) for a, b in pairwise([0, *cuts, rng.choice([HALVINGS, cuts[-1]])]))
        link |= {size: str(length) for size, length in zip(rng.sample("nhwc", 4), lengths, strict=True)}
        chosen = [param for param in chosen if param.name not in link]
    for param in sorted(chosen, key=params.index):
        link[param.name] = rng.choice(HOSTILE) if rng.random() < ODD else _valid(param, link, params, rng)
    if rng.random() < ODD:
        link[rng.choice(["zz", "__proto__", "schemes", "x" * 5000, "ü"])] = rng.choice(HOSTILE)
    if link and rng.random() < ODD:
        name = rng.choice(list(link))
        link[name] = [link[name], rng.choice(HOSTILE)]
    return link


def _valid(param: Param, link: dict[str, Any], params: tuple[Param, ...], rng: random.Random) -> str:
    """The text of a value, the limits more often than others; what does not fit beside the rest is mended."""
    declared = param.declared
    view = param.given(clean_values(params, {name: text for name, text in link.items() if isinstance(text, str)})[0])
    if isinstance(declared, Switch):
        return rng.choice("01")
    if isinstance(declared, MultipleChoice):
        options = declared.list_options(view)
        return ",".join(rng.sample(options, rng.randint(0, len(options))))
    if isinstance(declared, Choice):
        return rng.choice(declared.list_options(view))
    if isinstance(declared, NumberChoice):
        return str(rng.choice(declared.list_options(view)))
    if isinstance(declared, Real) and param.name not in "nhwc":
        least, most = declared.entered or declared.compute_limits(view)
        return declared.format_for_link(
            declared.find_nearest_value(rng.choice([least, most, rng.uniform(least, most)]), view)
        )
    return str(rng.choice(_TEXTS.get(param.name, LENGTHS)))


_RULES = ("own", "full", "groups(2)", "groups(64)", "window(1)", "window(16)")
_FIELDS = (
    "",
    "N=full",
    "C=groups(2)",
    "N=full,H=full,W=full",
    "N=window(16),C=window(16)",
    "H=window(31),W=window(31)",
)
_TEXTS: dict[str, tuple[Any, ...]] = {
    **{param.name: _RULES for param in lab.PARAMS if param.name[:2] in ("a_", "b_")},
    **{param.name: _FIELDS for param in identities.PARAMS if param.name.endswith(("_mean", "_divide"))},
    "focus": ("0,0,0,0", "99999,99999,99999,99999", "1,0,1,0"),
    "over": ("H", "HW", "HWC", "C"),
    "radius_a": ("same", 0, 1, 16),
    "schemes": (*compare.COMPARABLE_KEYS, ",".join(SCHEMES), "batch,weight,layer"),
}
"""Texts of the values that read their own."""


def opened(page: str, link: dict[str, Any]) -> tuple[AppTest, Run]:
    """The page of a link, in a session of its own."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=600).switch_page(f"pages/{page}.py")
    at.context["theme"] = "light"
    at.query_params.update(link)
    return at, _run(at, page, f"?{_shortened(link)}")


def clicks(page: str, rng: random.Random, steps: int) -> Iterator[Run]:
    """A page that is opened, and random widgets of it that are set at random, one after the other."""
    at, run = opened(page, {})
    yield run
    for _ in range(steps):
        found = [widget for kind in WIDGETS for widget in at.get(kind) if not widget.proto.disabled]
        if not found:
            return
        widget = rng.choice(found)
        yield _run(at, page, _set(widget, rng))


def _set(widget: Any, rng: random.Random) -> str:
    """Set a widget to a value that it takes; in words."""
    kind = widget.type
    if kind == "button":
        widget.click()
        return f"press {widget.label}"
    if kind in ("number_input", "slider"):
        least, most = widget.min, widget.max
        given = rng.choice([least, most, type(least)(rng.uniform(least, most))])
    elif kind in ("toggle", "checkbox"):
        given = not widget.value
    elif kind == "text_input":
        given = rng.choice(_FIELDS + HOSTILE)[:200]
    else:
        several = isinstance(widget.value, list | tuple)
        options = list(widget.options)
        # As the page words them, which is what the browser sends; a test's widget would word them once more.
        widget.__class__ = type("Worded", (type(widget),), {"format_func": property(lambda self: str)})
        given = rng.sample(options, rng.randint(0, len(options))) if several else rng.choice(options)
    widget.set_value(given)
    return f"{widget.label} = {given!s:.60}"


def _run(at: AppTest, page: str, what: str) -> Run:
    """Run a page, once all that is waiting to be thrown away is."""
    gc.collect()
    Path("/proc/self/clear_refs").write_text("5")  # the peak is counted from here
    before, start = kilobytes("VmRSS"), time.process_time()
    try:
        at.run()
        fault = _fault(at, page)
    except (RuntimeError, InvalidInput) as error:  # of a run that is over its time
        fault = str(error)
    seconds = time.process_time() - start
    return Run(page, what, seconds, (kilobytes("VmHWM") - before) / 1024, fault)


def _fault(at: AppTest, page: str) -> str:
    """An exception; or that the page shows neither what it is for nor why not."""
    if at.exception:
        return f"{at.exception[0].proto.type}: {at.exception[0].message}"
    shown = plots(at)
    said = " ".join(text.value for text in (*at.markdown, *at.success, *at.warning))
    there = FIGURES.get(page, set()) & shown.keys() or any(word in said for word in WORDS.get(page, ()))
    asks = any(text.value.startswith("Choose rows") for text in at.info)
    asks = asks or any(button.key in ("start run", "cancel run") for button in at.button)
    return "" if there or at.error or asks or (page == "identities" and shown) else "nothing is shown"


def kilobytes(name: str) -> int:
    """A number of /proc/self/status."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(name))


def _shortened(link: dict[str, Any]) -> str:
    """A link as a page of a report has it."""
    return "&".join(f"{name[:20]}={str(text)[:40]}" for name, text in link.items())
