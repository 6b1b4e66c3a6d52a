"""Generators against discriminators on a ring of Gaussians: are all of them found, with spectral norm and without?"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.fields import Shape
from normviz.core.rows import Row
from normviz.core.settings import real, whole
from normviz.core.text import typeset
from normviz.experiments.course import marks
from normviz.experiments.experiment import (
    Arrays,
    Comparison,
    Difference,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    Word,
    comparing,
    paired,
    spread,
)
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

MODES, RADIUS = 8, 2.0
"""Gaussians, and how far their centres are from the middle."""

NEAR = 3.0
"""A sample is of a mode within so many σ of its centre, as 98.9% of that Gaussian are."""

LEAST = 0.2
"""A mode is covered when it has at least this much of its fair share, one in `MODES`, of all samples."""

WIDTH, BATCH = 32, 64
"""Units of each hidden layer; points of a mini-batch."""

POINTS, SAMPLES, DRAWN = 20, 1000, 200
"""So many times in a training so many points are generated, and so many of them kept for the picture."""

ENDS = 3
"""The modes covered at the end are the mean over so many of the last measurements, as they come and go."""

TIMES = (0.25, 0.5, 1.0)
"""Shares of the training at which the points are shown."""


@dataclass(frozen=True)
class Setting(Comparison):
    """What plays against what, for how long."""

    schemes: tuple[str, ...] = comparing(("none", "spectral"))
    ahead: int = whole(3, 1, 6, label="Steps of the discriminator", help="For each of the generator; compared with 1.")
    steps: int = whole(500, 20, 1500, label="Steps", stops=(100, 200, 300, 500, 1000, 1500), control="stops")
    rate: float = real(0.01, 1e-4, 0.1, label="Learning rate (Adam)", stops=(0.001, 0.002, 0.005, 0.01, 0.02))
    deviation: float = real(0.1, 0.02, 0.2, label="σ of each Gaussian", symbol="σ", stops=(0.02, 0.05, 0.1, 0.2))

    @property
    def shape(self) -> Shape:
        """Of the first normalized layer."""
        return BATCH, 1, 1, WIDTH

    @property
    def sides(self) -> tuple[int, ...]:
        """Steps of the discriminator for each of the generator that are compared."""
        return tuple(dict.fromkeys((self.ahead, 1)))


@dataclass(frozen=True)
class Part:
    """The networks of one scheme: of several, what one is trained beside would change its rounding, and so its course.

    Attributes:
        ahead: steps of the discriminator for each of the generator.
    """

    kind: ClassVar[str] = "experiments/gan"
    version: ClassVar[int] = 1

    row: Row
    networks: tuple[int, ...]
    ahead: int
    length: int
    rate: float
    deviation: float
    eps: float
    device: str

    @property
    def seconds(self) -> float:
        """A step of each side; the decomposition of a spectral norm, and of whitening, takes longer."""
        count, slow = len(self.networks), self.row.scheme.spectral or self.row.scheme.whitens
        each = (1.1e-3 + 8e-5 * count) + slow * (4e-4 + 1.2e-4 * count)
        return self.length * (self.ahead + 1) * each

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step of the generator."""
        from normviz.networks.gan import Game, kept
        from normviz.networks.learning import device_of, device_words, numbers

        device = device_of(self.device)
        game = Game(
            [self.row.scheme], self.networks, centres(), self.deviation, WIDTH, BATCH, self.rate, self.eps, device
        )
        z = kept(self.networks, SAMPLES).to(device)
        marked = marks(self.length, POINTS)
        found: list[tuple[int, np.ndarray, np.ndarray]] = []
        for step in range(1, self.length + 1):
            for _ in range(self.ahead):
                game.tell()
            game.generate()
            if step in marked:
                (made,) = numbers(game.made(z))
                found.append((step, near(made, self.deviation), made[0, :DRAWN]))
            yield Step(step / self.length, partial(_so_far, found, step / self.length, device_words(device)))


def centres() -> np.ndarray:
    """Of the Gaussians, (modes, 2)."""
    angles = 2 * np.pi * np.arange(MODES) / MODES
    return RADIUS * np.stack([np.cos(angles), np.sin(angles)], 1)


def near(points: np.ndarray, deviation: float) -> np.ndarray:
    """The shares of points (…, N, 2) within `NEAR` σ of each centre, (…, modes); those that are no numbers are not."""
    distances = np.linalg.norm(points[..., None, :] - centres(), axis=-1)
    return (distances <= NEAR * deviation).mean(-2)


def covered(shares: np.ndarray) -> np.ndarray:
    """How many modes have at least `LEAST` of their fair share of the samples."""
    return (shares >= LEAST / MODES).sum(-1)


def _so_far(found: list[tuple[int, np.ndarray, np.ndarray]], share: float, device: str) -> Arrays:
    """Shares near each mode (measured, networks, modes), and points of the first network (measured, points, 2)."""
    measured, shares, points = (np.array(each) for each in zip(*found, strict=True))
    return {
        "measured": measured, "near": shares, "points": points, "share": np.array(share), "device": np.array(device),
    }  # fmt: skip


def _part(setting: Setting, row: Row, ahead: int) -> Part:
    return Part(
        row, setting.networks, ahead, setting.steps, setting.rate, setting.deviation, setting.eps, setting.device
    )


def parts(setting: Setting) -> list[Part]:
    """A part for every scheme and number of steps; those with more steps of the discriminator come first."""
    return [_part(setting, row, ahead) for ahead in setting.sides for row in setting.rows]


def report(setting: Setting, results: Results) -> Report:
    """Modes covered and samples near one by step, points of the first seed, and what spectral norm makes of both."""
    found = {
        (row.key, ahead): results[part]
        for ahead in setting.sides
        for row in setting.rows
        if (part := _part(setting, row, ahead)) in results and len(results[part]["measured"])
    }
    ended = {of: each for of, each in found.items() if each["share"] == 1}
    verdict = _verdict(setting, ended)
    figures = []
    if found:
        figures.append(_curves(setting, found))
        figures.append(_points(setting, found))
    table: dict[str, list[Any]] = {
        "scheme": [key for key, _ in ended for _ in setting.networks],
        "steps of the discriminator": [ahead for _, ahead in ended for _ in setting.networks],
        "seed": [*setting.networks] * len(ended),
        "modes covered": [float(each) for of in ended.values() for each in _modes(of)],
        "share near a mode": [float(each) for of in ended.values() for each in _quality(of)],
    }
    return Report(_headline(setting, ended) or verdict.says, figures, verdict, table)


def _headline(setting: Setting, ended: Mapping[tuple[str, int], Arrays]) -> str:
    """Modes covered, by the steps of the discriminator."""
    each = []
    for ahead in setting.sides:
        rows = [row for row in setting.rows if (row.key, ahead) in ended]
        if rows:
            said = ", ".join(f"{row.scheme.label} {_mean(_modes(ended[row.key, ahead]))}" for row in rows)
            each.append(f"{said} ({_said(ahead)})")
    return f"Modes covered, of {MODES}: {'; '.join(each)}." if each else ""


def _modes(of: Arrays) -> np.ndarray:
    """Modes covered at the end, by network."""
    return covered(of["near"][-ENDS:]).mean(0)


def _quality(of: Arrays) -> np.ndarray:
    """The share of samples near any mode at the end, by network."""
    return of["near"][-ENDS:].sum(-1).mean(0)


def _said(ahead: int) -> str:
    return f"{ahead} step{'s' * (ahead > 1)} of the discriminator"


def _curves(setting: Setting, found: Mapping[tuple[str, int], Arrays]) -> Shown:
    panels = []
    for title, axis, span, values in (
        ("Modes covered", "modes", (-0.4, MODES + 0.4), lambda of: covered(of["near"])),
        ("Near a mode", "samples, %", (-4.0, 104.0), lambda of: 100 * of["near"].sum(-1)),
    ):
        for ahead in setting.sides:
            each = [
                Curve(label, of["measured"], middle, look, low, high)
                for look, (row, label) in enumerate(zip(setting.rows, setting.labels, strict=True))
                if (of := found.get((row.key, ahead)))
                for middle, low, high in [spread(values(of))]
            ]
            if each:
                panels.append(Panel(f"{title}: {_said(ahead)}", each, "step of the generator", axis, span=span))
    ends = "; ".join(
        f"{label}, {_said(ahead)}: {_mean(_modes(of))} modes, {_quality(of).mean():.0%} of the samples"
        for row, label in zip(setting.rows, setting.labels, strict=True)
        for ahead in setting.sides
        if (of := found.get((row.key, ahead)))
    )
    alt = f"Modes covered, of {MODES}, and samples near one by step; means over the seeds at the end: {ends}."
    caption = (
        f"Lines are medians over the seeds, bands reach from the least to the largest. Near: within {NEAR:g} σ of a "
        f"centre. Covered: {LEAST / MODES:.1%} of the samples or more are near it."
    )
    return Shown("curves", panels, alt, caption)


def _points(setting: Setting, found: Mapping[tuple[str, int], Arrays]) -> Shown:
    ring = _ring(setting.deviation)
    panels, words = [], []
    for look, (row, label) in enumerate(zip(setting.rows, setting.labels, strict=True)):
        of = found.get((row.key, setting.ahead))
        if of is None:
            continue
        for share in TIMES:
            at = int(np.abs(of["measured"] - share * setting.steps).argmin())
            if of["measured"][at] < share * setting.steps - setting.steps / POINTS:
                continue  # not there yet
            x, y = of["points"][at].T
            cloud = Curve(label, x, y, look, apart=True, size=4)
            panels.append(Panel(f"{label}, step {of['measured'][at]}", [ring, cloud], square=1.6 * RADIUS))
            words.append(f"{label}, step {of['measured'][at]}: {covered(of['near'][at, 0])} modes")
    return Shown(
        "points", panels or [Panel("", [ring], square=1.6 * RADIUS)],
        f"Points of the generator of seed {setting.seed}, {_said(setting.ahead)} for each of its own. "
        f"{'; '.join(words) or 'None yet'}.",
        f"Circles are {NEAR:g} σ around the centres of the data. Seed {setting.seed}, {_said(setting.ahead)}.",
        len(TIMES),
    )  # fmt: skip


def _ring(deviation: float) -> Curve:
    """A circle around each mode, with nothing between them."""
    angles = np.append(np.linspace(0, 2 * np.pi, 25), np.nan)
    circle = NEAR * deviation * np.stack([np.cos(angles), np.sin(angles)], 1)
    x, y = (centres()[:, None] + circle).reshape(-1, 2).T
    return Curve("a mode of the data", x, y, -1)


def _verdict(setting: Setting, ended: Mapping[tuple[str, int], Arrays]) -> Verdict:
    """Whether spectral norm covers more modes than no normalization, by how far the discriminator is ahead."""
    if not {"none", "spectral"} <= {row.key for row in setting.rows}:
        return Verdict("open", "The claim compares spectral norm with no normalization: choose both.")
    pairs = {
        ahead: (ended["spectral", ahead], ended["none", ahead])
        for ahead in setting.sides
        if {("spectral", ahead), ("none", ahead)} <= set(ended)
    }
    if len(pairs) < len(setting.sides):
        return Verdict("open", "Not all networks are trained yet.")
    changes = {ahead: paired(_modes(of), _modes(other)) for ahead, (of, other) in pairs.items()}
    says = []
    for ahead, (of, other) in pairs.items():
        says.append(
            f"With {_said(ahead)} for each of the generator, spectral norm covers {_mean(_modes(of))} of {MODES} modes "
            f"and no normalization {_mean(_modes(other))}: {_effect(changes[ahead])}"
        )
    quality = "; ".join(
        f"{_said(ahead)}: {_quality(of).mean():.0%} and {_quality(other).mean():.0%}"
        for ahead, (of, other) in pairs.items()
    )
    more, fewer = ([a for a, c in changes.items() if c.clear and sign * c.mean > 0] for sign in (1, -1))
    word: Word = "holds" if len(more) == len(changes) else "holds-if" if more else "wrong" if fewer else "open"
    why = ""
    if all(_quality(of).mean() < _quality(other).mean() for of, other in pairs.values()):
        why = " The bound on its slope limits how sharply a discriminator tells where a mode ends."
    where = ""
    if word == "holds-if":
        (left,) = set(changes) - set(more)
        where = f"It does with {_said(*more)}; with {_said(left)} it {'harms' if fewer else 'may or may not'}. "
    return Verdict(
        word,
        f"{'. '.join(says)}.",
        f"{where}Small networks on a ring in the plane, after {setting.steps} steps of the generator; ± is the 95% "
        f"interval over {setting.seeds} seeds. Samples within {NEAR:g} σ of a mode, with spectral norm and without: "
        f"{quality}.{why}",
    )


def _mean(values: np.ndarray) -> str:
    return typeset(float(values.mean()), 2)


def _effect(change: Difference) -> str:
    """The difference, in words."""
    if not change.clear:
        return f"no difference larger than the noise of the seeds ({change.said()})"
    return f"{typeset(abs(change.mean), 2)} ± {typeset(change.reach, 2)} {'more' if change.mean > 0 else 'fewer'}"


EXPERIMENT = Experiment(
    key="gan",
    title="Modes of a GAN",
    question="Does spectral norm keep a GAN from mode collapse?",
    claims=("S03",),
    claim="Spectral normalization of the discriminator improves the training of GANs, whose generators may collapse to "
    "a few modes of the data (Miyato et al. 2018).",
    about="A generator learns to make points like those of eight Gaussians on a ring, against a discriminator, "
    "normalized or not, that learns to tell them apart: with one step for each of the generator's, and with more, as "
    "is usual with spectral norm. Both have two layers of 32 units.",
    setting=Setting,
    parts=parts,
    report=report,
)
"""Modes covered with spectral norm and without."""
