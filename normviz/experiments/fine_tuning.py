"""Fine-tuning with batch norm: what moves though it was thought frozen, and what it costs (Ioffe & Szegedy 2015)."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import numpy as np

from normviz.core.schemes import DEFAULT_EPS
from normviz.core.settings import among, choice, real, several, whole
from normviz.core.text import typeset
from normviz.experiments.experiment import (
    Arrays,
    Experiment,
    Report,
    Results,
    Shown,
    Verdict,
    paired,
    percent,
    spread,
)
from normviz.experiments.experiment import Setting as Seeded
from normviz.jobs.spec import Step
from normviz.ui.curves import Curve, Panel

WIDTHS = (64, 64)
"""Units of the normalized layers."""

BEFORE, BEFORE_BATCH, BEFORE_RATE, BEFORE_MOMENTUM = 200, 64, 0.003, 0.1
"""Of the training on the first task: steps, batch size, learning rate of Adam, and PyTorch's default momentum."""

MOMENTA = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Shares of a new batch in the running averages that are compared."""

MARKS = 10
"""So many times during the tuning errors are measured."""

LEAST = 2
"""A mini-batch is cut into pieces of no fewer examples: the variance of one is none."""

MODES = {"train": "training mode", "infer": "evaluation mode"}
"""How batch norm normalizes while a network is tuned."""

LEARNED = {"nothing": "nothing", "head": "classifier", "weights": "all but γ, β", "all": "all"}
"""What is learned of a network; the rest has no gradient."""

TASKS = {
    "faint": "Faint and bright pictures",
    "inverted": "Inverted pictures",
    "digits": "Digits 5 to 9 after 0 to 4",
    "same": "No other task",
}
"""What a network is tuned to."""

WAYS = {
    f"{mode}-{learned}": f"{'Training' if mode == 'train' else 'Evaluation'}: {words}"
    for mode in MODES
    for learned, words in LEARNED.items()
}
"""How a network is tuned: in which mode, and what of it."""


@dataclass(frozen=True)
class Setting(Seeded):
    """What is tuned to what, and how."""

    task: str = choice("faint", TASKS, label="New task", control="menu")
    ways: Sequence[str] = several(
        ("train-nothing", "train-weights", "train-all", "infer-nothing", "infer-weights", "infer-all"), WAYS,
        label="Shown", help="The mode of batch norm, and what is learned of the network.",
    )  # fmt: skip
    momentum: float = real(
        0.1, 0.001, 1.0, label="Momentum", stops=MOMENTA, help="The share of a new batch in the running averages."
    )
    examples: int = whole(128, 64, 512, label="Examples of the new task", stops=(64, 128, 256, 512), control="stops")
    batch: int = among(32, (4, 8, 16, 32, 64), label="Batch size N")
    steps: int = whole(100, 10, 1000, label="Steps", stops=(20, 50, 100, 200, 500, 1000), control="stops")
    rate: float = real(0.001, 1e-5, 0.1, label="Learning rate (Adam)", stops=(0.0001, 0.0003, 0.001, 0.003, 0.01))

    @property
    def pieces(self) -> tuple[int, ...]:
        """Into how many pieces a mini-batch is cut, for each of which a gradient is accumulated."""
        return tuple(2**k for k in range(self.batch.bit_length()) if 2**k * LEAST <= self.batch)


@dataclass(frozen=True)
class Part:
    """Networks of all seeds that learn the first task, and are then tuned in one mode, whatever of them is learned."""

    kind: ClassVar[str] = "experiments/fine-tuning"
    version: ClassVar[int] = 1

    networks: tuple[int, ...]
    mode: str
    task: str
    momentum: float
    examples: int
    batch: int
    pieces: int
    length: int
    rate: float
    device: str

    @property
    def momenta(self) -> tuple[float, ...]:
        """Of the averages that are kept; in evaluation mode none changes."""
        return tuple(sorted({*MOMENTA, self.momentum})) if self.mode == "train" else (self.momentum,)

    @property
    def seconds(self) -> float:
        """About 4 ms a step, and what the units of all examples cost."""
        count = len(self.networks) * len(LEARNED)
        looks = 900 * (MARKS + len(self.momenta)) / 3
        trained = BEFORE * BEFORE_BATCH / len(LEARNED) + self.length * self.batch + looks
        return 2e-3 * BEFORE + (3e-3 + 2e-4 * self.pieces) * self.length + 1.2e-6 * count * trained

    def steps(self) -> Iterator[Step[Arrays]]:
        """Step by step."""
        from normviz.networks.batch_norm import BatchNorm
        from normviz.networks.learning import Learner, cross_entropy, device_of, device_words, numbers
        from normviz.networks.tuning import Tuned, changed, moved, tasks

        device = device_of(self.device)
        first, second = tasks(self.task, self.networks, self.examples, device)
        network = Tuned(self.networks, WIDTHS, BEFORE_MOMENTUM, DEFAULT_EPS, device)
        learner = Learner([*network.weights, *network.gains, *network.biases, *network.old], "adam", BEFORE_RATE)
        found: dict[str, list[np.ndarray]] = {"measured": [], "old": [], "new": [], "moved": []}
        count = BEFORE + self.length
        for step, (x, labels) in enumerate(first.batches(self.networks, BEFORE, BEFORE_BATCH), 1):
            learner.step(cross_entropy(network.logits(x, BatchNorm.train, new=False), labels))
            yield Step(step / count, partial(_so_far, found, {}, step / count, device_words(device)))

        before, network = (network.copied(len(LEARNED), self.momenta, self.task == "digits") for _ in range(2))
        parameters = [(name, each) for name, some in network.named.items() for each in some]
        rates = [network.old[0].new_tensor(_rates(name, self.rate))[:, None] for name, _ in parameters]
        learner = Learner([each for _, each in parameters], "adam", rates)
        chosen = self.momenta.index(self.momentum)

        def normalized(norm: BatchNorm, x: Any) -> Any:
            return norm.train(x, self.pieces) if self.mode == "train" else norm.infer(x, chosen)

        def measure(step: int) -> None:
            found["measured"].append(np.array(step))
            found["old"].append(numbers(first.error(network, new=False, which=chosen)))
            found["new"].append(numbers(second.error(network, new=True, which=chosen)))
            found["moved"].append(numbers(moved(network, before, chosen)))

        marks = set(np.linspace(0, self.length, MARKS + 1).round().astype(int).tolist())
        over: dict[str, np.ndarray] = {}
        measure(0)
        for step, (x, labels) in enumerate(second.batches(self.networks, self.length, self.batch), 1):
            learner.step(cross_entropy(network.logits(x, normalized, new=True), labels))
            if step in marks:
                measure(step)
            if step == self.length:
                for name, task, new in (("old", first, False), ("new", second, True)):
                    errors = [numbers(task.error(network, new, which)) for which in range(len(self.momenta))]
                    over[f"{name} by momentum"] = np.stack(errors)
                over |= {f"changed: {name}": numbers(each) for name, each in changed(network, before).items()}
            share = (BEFORE + step) / count
            yield Step(share, partial(_so_far, found, over, share, device_words(device)))


def _rates(name: str, rate: float) -> list[float]:
    """The learning rates of some parameters, for every choice of what is learned."""
    learn = {"weights": ("weights", "all"), "γ, β": ("all",), "classifier": ("head", "weights", "all")}[name]
    return [rate if learned in learn else 0.0 for learned in LEARNED]


def _so_far(found: Mapping[str, list[np.ndarray]], over: Mapping[str, np.ndarray], share: float, device: str) -> Arrays:
    """At the measured steps (…, ways, networks) the errors on both tasks, and how far running means have moved; at the
    end the errors by momentum (momenta, ways, networks), and the largest change of parameters (ways, networks)."""
    arrays = {name: np.array(values) for name, values in found.items()}
    return {**arrays, **over, "share": np.array(share), "device": np.array(device)}


def part(setting: Setting, mode: str, pieces: int = 1) -> Part:
    """The networks that are tuned in a mode, on mini-batches in so many pieces."""
    momentum = setting.momentum if mode == "train" else BEFORE_MOMENTUM
    return Part(
        setting.networks, mode, setting.task, momentum, setting.examples, setting.batch, pieces, setting.steps,
        setting.rate, setting.device,
    )  # fmt: skip


def parts(setting: Setting) -> list[Part]:
    """Both modes, and in training mode gradients that are accumulated over pieces of a mini-batch."""
    return [part(setting, "train"), part(setting, "infer"), *(part(setting, "train", n) for n in setting.pieces[1:])]


def report(setting: Setting, results: Results) -> Report:
    """Errors on both tasks by step, over the momentum, and over the pieces of a mini-batch."""
    found = {mode: results[part(setting, mode)] for mode in MODES if part(setting, mode) in results}
    ended = {mode: each for mode, each in found.items() if each["share"] == 1}
    cut = {n: results[part(setting, "train", n)] for n in setting.pieces if part(setting, "train", n) in results}
    cut = {n: each for n, each in cut.items() if each["share"] == 1}
    figures = [*_curves(setting, found), *_momenta(setting, ended), *_pieces(setting, cut, ended.get("infer"))]
    headline, verdict = _told(setting, ended)
    return Report(headline, figures, verdict, _table(setting, ended, cut))


@dataclass(frozen=True)
class Way:
    """A way to tune of which something is shown, and where its numbers are: `row` of the results of its mode."""

    name: str
    mode: str
    row: int
    look: int

    def drawn(self, x: np.ndarray, values: np.ndarray, points: bool = False) -> Curve:
        """Its curve, of values (…, networks); a network that diverged has none."""
        middle, low, high = spread(np.where(np.isfinite(values), values, np.nan))
        return Curve(self.name, x, middle, self.look, low, high, points=points)


def _ways(setting: Setting) -> list[Way]:
    split = [(way, *way.split("-")) for way in dict.fromkeys(setting.ways)]
    return [Way(WAYS[way], mode, list(LEARNED).index(learned), k) for k, (way, mode, learned) in enumerate(split)]


BOTH = {"old": "First task", "new": "New task"}
"""The two tasks on which errors are measured."""


def _curves(setting: Setting, found: Mapping[str, Arrays]) -> Iterator[Shown]:
    """Errors on both tasks, and how far the running means have moved, by step."""
    begun = {mode: each for mode, each in found.items() if len(each["measured"])}
    ways = [way for way in _ways(setting) if way.mode in begun]
    if not ways:
        return
    panels = [
        Panel(
            title,
            [
                way.drawn(each["measured"], factor * each[name][:, way.row])
                for way in ways
                for each in [begun[way.mode]]
            ],
            "step", axis,
        )
        for name, title, axis, factor in (
            *((name, f"{title}: test error", "%", 100) for name, title in BOTH.items()),
            ("moved", "How far the running means have moved", "standard deviations", 1),
        )
    ]  # fmt: skip
    yield Shown(
        "curves", panels, f"Errors and running means by step. So far: {_said(ways, begun)}.",
        "Tested in evaluation mode throughout. Medians over the seeds, in bands from the least to the largest.",
    )  # fmt: skip


def _momenta(setting: Setting, ended: Mapping[str, Arrays]) -> Iterator[Shown]:
    """Errors at the end, over the momentum of the running averages."""
    ways = [way for way in _ways(setting) if way.mode in ended]
    if "train" not in ended or not ways:
        return
    over = {"train": np.array(part(setting, "train").momenta)}
    over["infer"] = over["train"][[0, -1]]

    def values(way: Way, name: str) -> np.ndarray:
        errors = 100 * ended[way.mode][f"{name} by momentum"][:, way.row]
        return np.broadcast_to(errors, (len(over[way.mode]), errors.shape[-1]))

    panels = [
        Panel(
            f"{title}: test error at the end",
            [way.drawn(over[way.mode], values(way, name), way.mode == "train") for way in ways],
            "momentum", "%", "x",
        )
        for name, title in BOTH.items()
    ]  # fmt: skip
    ends = over["infer"]
    said = "; ".join(
        f"{way.name}: {percent(first)} at {typeset(ends[0])}, {percent(last)} at {typeset(ends[1])}"
        for way in ways
        if way.mode == "train"
        for first, last in [np.median(ended["train"]["old by momentum"][[0, -1], way.row], -1)]
    )
    yield Shown(
        "momenta", panels, f"Errors at the end over the momentum of the running averages. First task, {said}.",
        "The momentum is the share of a new mini-batch, as PyTorch counts it. It changes no weight: in training mode "
        "networks learn by the statistics of the mini-batch, and the averages wait for the test.",
    )  # fmt: skip


def _pieces(setting: Setting, cut: Mapping[int, Arrays], infer: Arrays | None) -> Iterator[Shown]:
    """Errors at the end where gradients are accumulated, over the examples of a piece."""
    sizes = [setting.batch // n for n in cut]
    ways = [way for way in _ways(setting) if way.mode == "train" or infer is not None]
    if len(cut) < 2 or not ways:
        return

    def values(way: Way, name: str) -> np.ndarray:
        each = [cut[n] if way.mode == "train" or infer is None else infer for n in cut]
        return np.stack([100 * one[name][-1, way.row] for one in each])

    panels = [
        Panel(
            f"{title}: test error at the end",
            [way.drawn(np.array(sizes), values(way, name), way.mode == "train") for way in ways],
            "examples in a piece", "%", "x", marks=sizes,
        )
        for name, title in BOTH.items()
    ]  # fmt: skip
    said = "; ".join(
        f"{way.name}: " + ", ".join(
            f"{percent(np.median(each['new'][-1, way.row]))} with pieces of {setting.batch // n}"
            for n, each in cut.items()
        )
        for way in ways
        if way.mode == "train"
    )  # fmt: skip
    yield Shown(
        "pieces", panels, f"Errors at the end with accumulated gradients. New task, {said or 'evaluation mode only'}.",
        f"Gradients of pieces are accumulated to one of {setting.batch} examples. In evaluation mode that is the "
        "gradient of the whole mini-batch; in training mode every piece has statistics of its own.",
    )  # fmt: skip


def _said(ways: Sequence[Way], found: Mapping[str, Arrays]) -> str:
    return "; ".join(
        f"{way.name} {percent(old)} on the first task, {percent(new)} on the new one"
        for way in ways
        for old, new in [[np.median(found[way.mode][name][-1, way.row]) for name in BOTH]]
    )


def _told(setting: Setting, ended: Mapping[str, Arrays]) -> tuple[str, Verdict]:
    """What moved of networks of which nothing was learned, and what that cost."""
    if len(ended) < len(MODES):
        waiting = "Not both modes are trained yet."
        return waiting, Verdict("open", waiting)
    train, infer = ended["train"], ended["infer"]
    nothing, everything = (list(LEARNED).index(learned) for learned in ("nothing", "all"))
    frozen = all(
        not each[name][nothing].any() for each in ended.values() for name in each if name.startswith("changed")
    )
    moved = train["moved"][-1, nothing]
    begun, now = ({name: train[name][step, nothing] for name in BOTH} for step in (0, -1))
    cost = paired(now["old"], begun["old"])
    headline = (
        f"All parameters frozen, in training mode: the running means move by {typeset(np.median(moved), 2)} standard "
        f"deviations, the error on the first task goes from {percent(np.median(begun['old']))} to "
        f"{percent(np.median(now['old']))}, on the new one from {percent(np.median(begun['new']))} to "
        f"{percent(np.median(now['new']))}."
    )
    better = paired(infer["new"][-1, everything], train["new"][-1, everything])
    still = not infer["moved"][:, nothing].any()
    said = (
        f"With all parameters frozen, the error on the first task changes by {cost.said(100)} points in training mode. "
        f"In evaluation mode {'nothing moves' if still else 'the averages move, too'}. With all learned, to tune in "
        f"evaluation mode in place of training mode changes the error on the new task by {better.said(100)} points"
        f"{'' if better.clear else ', which may be noise'}."
    )
    by_momentum = np.median(train["old by momentum"][:, nothing], -1)
    ends = [f"{percent(by_momentum[k])} at a momentum of {typeset(MOMENTA[k])}" for k in (0, -1)]
    condition = (
        f"{TASKS[setting.task]}; {setting.steps} steps on batches of {setting.batch}, momentum "
        f"{typeset(setting.momentum)}. The error on the first task ends at {ends[0]}, and at {ends[1]}. ± is the 95% "
        f"interval over {setting.seeds} seeds."
    )
    if not (frozen and still and (moved > 0).all()):
        return headline, Verdict("wrong", said, condition)
    if cost.clear and cost.mean > 0:
        return headline, Verdict("holds", said, condition)
    return headline, Verdict("holds-if", f"The averages move, but at no clear cost here. {said}", condition)


def _table(setting: Setting, ended: Mapping[str, Arrays], cut: Mapping[int, Arrays]) -> dict[str, list[Any]]:
    """A row for every mode, number of pieces, choice of what is learned, and seed."""
    runs = [
        *((mode, 1, each) for mode, each in ended.items()), *(("train", n, each) for n, each in cut.items() if n > 1)
    ]  # fmt: skip
    rows = [
        {
            "mode": MODES[mode], "pieces": pieces, "learned": words, "seed": seed,
            **{
                f"{title.lower()}, error {when}": float(each[name][step, row, k])
                for name, title in BOTH.items()
                for when, step in (("before", 0), ("after", -1))
            },
            "running means moved": float(each["moved"][-1, row, k]),
            **{name: float(each[name][row, k]) for name in each if name.startswith("changed")},
        }
        for mode, pieces, each in runs
        for row, words in enumerate(LEARNED.values())
        for k, seed in enumerate(setting.networks)
    ]  # fmt: skip
    return {name: [row[name] for row in rows] for name in rows[0]} if rows else {}


EXPERIMENT = Experiment(
    key="fine-tuning",
    title="Fine-tuning with batch norm",
    question="What of a frozen batch norm still moves?",
    claims=("B03", "B10", "L03"),
    claim="A batch norm whose parameters are frozen is not frozen: in training mode it goes on normalizing by the "
    "mini-batch, and its running averages go on following the data, at a cost on what was learned before; only in "
    "evaluation mode is it the fixed affine map of inference (Ioffe & Szegedy 2015, section 3.1; PyTorch's "
    "documentation of BatchNorm2d and of evaluation mode).",
    about="Dense networks with two layers of 64 units, each with batch norm, learn handwritten digits, and then other "
    "pictures of which they have few, with a classifier of their own.",
    setting=Setting,
    parts=parts,
    report=report,
)
