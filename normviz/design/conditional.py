"""γ and β that depend on a condition c: y = γ(c) x̂ + β(c).

x̂ keeps its invariances. y keeps one exactly when c does not notice the change either, or notices it where it is
absorbed already: that is decided by where c is taken from, of which examples, and at which point of x → a = Wx → x̂.

Measured on a forward pass of Table 1's first convolution: its digits, weights and changes, in float64, at ε = 0.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from normviz.core.normalize import normalize, quiet
from normviz.core.scheme import Reference, Scheme
from normviz.core.schemes import IOFFE
from normviz.core.theory import Verdict, degenerate, predict
from normviz.core.transformations import TRANSFORMATIONS, Transformation
from normviz.core.turns import one_at_a_time
from normviz.networks.problem import BASES, MEASURED, make_problem, position
from normviz.networks.setting import Setting
from normviz.table1.forward import gap, summed
from normviz.table1.table import NOTHING
from normviz.table1.verdict import Answer, of_outputs, size_of

LONGEST = 1000
"""Time steps of a diffusion, from which one is drawn for each example."""

Parameters = tuple[np.ndarray, np.ndarray]
"""γ and β, arrays that broadcast against (N, H, W, C)."""


@dataclass(frozen=True)
class Source:
    """Where γ and β come from.

    Attributes:
        key, name: in links; on the page.
        latex: γ and β as a formula.
        about: what that is, and what stands for it here, in sentences.
        reference: the paper.
        make: (what is taken, (N, H, W, K); random numbers; C) -> γ and β.
        point: where c is taken: "x", before W and through weights of its own; "a", the summed inputs; "x̂"; or "" where
            it has nothing to do with the layer.
        examples: of which examples: "own", each of itself; "next", of the next one in the mini-batch; or "apart", of a
            mini-batch that nobody changes.
    """

    key: str
    name: str
    latex: str
    about: str
    reference: Reference
    make: Callable[[np.ndarray, np.random.Generator, int], Parameters]
    point: str = ""
    examples: str = "own"


def _drawn(taken: np.ndarray, rng: np.random.Generator, channels: int) -> Parameters:
    gain, bias = rng.standard_normal((2, channels))
    return 1 + gain / 4, bias / 4


def _through(summary: np.ndarray, rng: np.random.Generator, channels: int) -> Parameters:
    """(γ − 1, β) = V c for a summary c of each example, (N, 1, 1, K)."""
    inputs = summary.shape[-1]
    gain, bias = np.split(summary @ (rng.standard_normal((inputs, 2 * channels)) * inputs**-0.5), 2, axis=-1)
    return 1 + gain, bias


def _layer(taken: np.ndarray, rng: np.random.Generator, channels: int) -> Parameters:
    return _through(taken.mean((1, 2), keepdims=True), rng, channels)


def _time_step(taken: np.ndarray, rng: np.random.Generator, channels: int) -> Parameters:
    step = rng.integers(0, LONGEST, (len(taken), 1, 1, 1)) / LONGEST ** np.linspace(0, 1, 8)
    return _through(np.concatenate([np.cos(step), np.sin(step)], axis=-1), rng, channels)


def _moments(taken: np.ndarray, rng: np.random.Generator, channels: int) -> Parameters:
    return taken.std((1, 2), keepdims=True), taken.mean((1, 2), keepdims=True)


@quiet
def _gate(taken: np.ndarray, rng: np.random.Generator, channels: int) -> Parameters:
    gain, _ = _layer(taken, rng, channels)
    return 1 / (1 + np.exp(1 - gain)), np.zeros(1)


HUANG = Reference("Huang & Belongie 2017, Arbitrary Style Transfer", "1703.06868")
HU = Reference("Hu, Shen & Sun 2018, Squeeze-and-Excitation Networks", "1709.01507")

SOURCES = {
    each.key: each
    for each in (
        Source(
            "learned",
            "Learned",
            r"\gamma_c,\ \beta_c",
            "For comparison, what most layers have: one γ and one β for each channel, the same for all examples. Here "
            "they are drawn at random.",
            IOFFE,
            _drawn,
        ),
        Source(
            "film",
            "FiLM: another input",
            r"(\gamma - 1,\ \beta) = V c,\quad c = \bar x_\text{other}",
            "Feature-wise linear modulation: γ and β of every example come from another input, through layers of their "
            "own; in the paper from a question about the picture. Here the other input is another digit, its patches "
            "averaged, and there is one layer, of random weights V.",
            Reference("Perez et al. 2018, FiLM", "1709.07871"),
            _layer,
            point="x",
            examples="apart",
        ),
        Source(
            "time-step",
            "adaLN: a time step",
            r"(\gamma - 1,\ \beta) = V c,\quad c = \text{cosines and sines of } t",
            "Adaptive layer norm of diffusion transformers: γ and β come from the time step and the class. Here every "
            "example has a time step t drawn at random, and there is one layer, of random weights V. The paper has it "
            "with layer norm over the channels of a token; here it goes with any scheme.",
            Reference("Peebles & Xie 2023, Scalable Diffusion Models with Transformers", "2212.09748"),
            _time_step,
        ),
        Source(
            "style",
            "AdaIN: a style image",
            r"\gamma = \sigma(a_\text{style}),\quad \beta = \mu(a_\text{style})",
            "Adaptive instance norm: γ and β are the standard deviation and the mean, channel by channel, of the "
            "features of a style image, which passes through the same layers. Here the style of every example is "
            "another digit, which nobody changes, through the same W.",
            HUANG,
            _moments,
            point="a",
            examples="apart",
        ),
        Source(
            "batch-style",
            "AdaIN: the next example",
            r"\gamma = \sigma(a_{n+1}),\quad \beta = \mu(a_{n+1})",
            "The same, where the style image belongs to the data as well: here it is the next example of the "
            "mini-batch, and for the last one the first. MixStyle mixes these statistics with the example's own.",
            Reference("Zhou et al. 2021, Domain Generalization with MixStyle", "2104.02008"),
            _moments,
            point="a",
            examples="next",
        ),
        Source(
            "input",
            "Dynamic: the layer's input x",
            r"(\gamma - 1,\ \beta) = V c,\quad c = \bar x",
            "Dynamic layer norm: γ and β come from a summary of the layer's own input, through layers of their own; in "
            "the paper from an utterance. Here the summary is the mean of an example's patches, and there is one "
            "layer, of random weights V.",
            Reference("Kim, Song & Bengio 2017, Dynamic Layer Normalization", "1707.06065"),
            _layer,
            point="x",
        ),
        Source(
            "sums",
            "A gate: the sums a",
            r"\gamma = \operatorname{sigmoid}(V c),\quad \beta = 0,\quad c = \bar a",
            "A gate for every channel, as in squeeze-and-excitation, that looks at the summed inputs before they are "
            "normalized: at their mean over the positions of an example. Here there is one layer, of random weights V.",
            HU,
            _gate,
            point="a",
        ),
        Source(
            "normalized",
            "A gate: x̂",
            r"\gamma = \operatorname{sigmoid}(V c),\quad \beta = 0,\quad c = \bar{\hat x}",
            "The same gate behind the normalization, where squeeze-and-excitation networks with batch norm have it: it "
            "looks at the mean of x̂ over the positions. Where every channel of an example is centred over its "
            "positions, as by instance norm, that mean is 0, and γ = ½.",
            HU,
            _gate,
            point="x̂",
        ),
    )
}
"""By key, in the order in which the page shows them."""


class Notice(NamedTuple):
    """Whether γ and β notice a change, and why, in a sentence without its capital and its full stop."""

    notices: bool
    why: str


def notice(source: Source, kept: Verdict, scheme: Scheme, change: Transformation, setting: Setting) -> Notice:
    """Whether γ(c) and β(c) notice a change, by where c is taken; `kept`: what the rule says of x̂."""
    if not source.point:
        return Notice(False, "γ and β have nothing to do with these data and W")
    if change.on == "data" and source.examples == "apart":
        return Notice(False, "c is of other examples, which do not change")
    if source.point == "x̂":
        return Notice(not kept.invariant, f"c is taken from x̂, which {'stays' if kept.invariant else 'changes'}")
    if change.on == "weights" and source.point == "x":
        return Notice(False, "c does not pass through W")
    if source.point == "a" and scheme.on_weights is not None:
        before = predict(scheme.on_weights, change, "conv", setting.shapes[0], setting.weight_shapes[0])
        if before.invariant:
            return Notice(False, f"c is taken from a, and {scheme.on_weights.name} keeps a the same")
    return Notice(True, "c passes through W, which changes" if change.on == "weights" else "c is of data that change")


class Cell(NamedTuple):
    """One change under one source of γ and β.

    Attributes:
        source, change: their keys.
        kept: what the rule says of x̂.
        notice: whether γ and β notice the change.
        gap: max|y′ − y| / max|y|.
        answer: what the gap says, or why it says nothing.
    """

    source: str
    change: str
    kept: Verdict
    notice: Notice
    gap: float
    answer: Answer

    @property
    def predicted(self) -> bool:
        """Whether y keeps the invariance, by the rule: x̂ absorbs the change, and γ and β do not notice it."""
        return self.kept.invariant and not self.notice.notices

    @property
    def agrees(self) -> bool:
        """Whether the measurement says the same, as far as it says anything."""
        return self.answer.together in (None, self.predicted)


def setting_of(delta: float, seed: int) -> Setting:
    """The layer: 32 digits under 8 filters of 3 × 3, as in Table 1."""
    return Setting("conv", delta=delta, seed=seed)


def hollow(scheme: Scheme, setting: Setting) -> str | None:
    """Why invariance means nothing of this scheme on this layer, in a sentence; None where it means something."""
    return degenerate(scheme, setting.shapes[0], 0.0)


def table(scheme: Scheme, setting: Setting) -> dict[str, dict[str, Cell]]:
    """Every source, by key, under every change, by key."""
    found = gaps(scheme, setting)
    return {
        key: {name: _cell(source, scheme, change, found[key], setting) for name, change in TRANSFORMATIONS.items()}
        for key, source in SOURCES.items()
    }


def _cell(source: Source, scheme: Scheme, change: Transformation, found: np.ndarray, setting: Setting) -> Cell:
    kept = predict(scheme, change, "conv", setting.shapes[0], setting.weight_shapes[0])
    place, nothing = position(change), hollow(scheme, setting)
    if change.factor is not None and setting.delta == 1:
        nothing = NOTHING
    answer = of_outputs(found, place, change, size_of(change, setting), setting)
    said = answer if nothing is None else Answer(None, nothing)
    seen = notice(source, kept, scheme, change, setting)
    return Cell(source.key, change.key, kept, seen, float(found[place]), said)


@one_at_a_time
@lru_cache(maxsize=64)
def gaps(scheme: Scheme, setting: Setting) -> dict[str, np.ndarray]:
    """Return max|y′ − y| / max|y| of every source, by key, for all networks of Table 1, (networks,)."""
    problem = make_problem(replace(setting, steps=2), range(len(MEASURED)))
    examples, apart = (problem.inputs[order] for order in problem.order)
    outputs = [
        _outputs(examples * problem.factor[number] + problem.shift[number], apart, weights, scheme, setting)
        for number, weights in enumerate(problem.weights[0])
    ]
    return {
        key: np.array([gap(out[key], outputs[base][key]) for out, base in zip(outputs, BASES, strict=True)])
        for key in SOURCES
    }


def _outputs(
    x: np.ndarray, apart: np.ndarray, weights: np.ndarray, scheme: Scheme, setting: Setting
) -> dict[str, np.ndarray]:
    """y of every source, for patches (N, positions, fan-in) and those of the examples apart."""
    own, other = (_points(each, weights, scheme, setting) for each in (x, apart))
    found = {}
    for number, (key, source) in enumerate(SOURCES.items()):
        taken = (other if source.examples == "apart" else own)[source.point or "x"]
        taken = np.roll(taken, -1, axis=0) if source.examples == "next" else taken
        gain, bias = source.make(taken, np.random.default_rng([setting.seed, 60, number]), setting.width)
        found[key] = gain * own["x̂"] + bias
    return found


def _points(x: np.ndarray, weights: np.ndarray, scheme: Scheme, setting: Setting) -> dict[str, np.ndarray]:
    """What may be taken of some examples, (N, H, W, K)."""
    a, on_activations = summed(x, weights, scheme, setting), scheme.on_activations
    xhat = a if on_activations is None else normalize(a, on_activations, setting.eps).xhat
    return {"x": x.reshape(*a.shape[:3], -1), "a": a, "x̂": xhat}
