"""What an experiment is: a setting, the jobs that it consists of, and what is to be seen in their results.

Its parts are frozen plain data, each run by itself, in any order and in any process; their results are named arrays,
kept by the digest of the part. What a setting leaves as it was is not computed again, and what was finished before an
interruption is not lost.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from shlex import quote
from typing import Any, ClassVar

from normviz.core.errors import InvalidInput
from normviz.core.fields import Shape, find_divisors
from normviz.core.registry import DEFAULT_EPS, SCHEMES, Scheme, get_scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.settings import (
    EarlierValues,
    choice,
    get_declarations,
    integer,
    multiple_choice,
    number_choice,
    real,
    value,
)
from normviz.describe.seeds import COMPARISON_RULES
from normviz.jobs.results import Part, Results
from normviz.topics.experiments.reports import Report
from normviz.train.setting import DEVICES


@dataclass(frozen=True)
class Experiment:
    """One experiment.

    Attributes:
        key: in links and on the command line.
        title: on the page.
        question: what it answers.
        claims: ids of the claims that it tests, as the list of claims has them.
        claim: what is claimed, in a sentence, with its source.
        about: (setting) -> the data and the network in a line.
        rules: how networks are compared, by default by choosing learning rates on validation digits.
        why: an explanation of what the verdict says, in a sentence that holds for every setting.
        setting: a frozen dataclass of declarations, `Setting` or one built on it; it raises InvalidInput.
        parts: (setting) -> what is to be computed.
        report: (setting, results) -> what is to be seen. Of any part of the results, also none.
    """

    key: str
    title: str
    question: str
    claims: Sequence[str]
    claim: str
    about: Callable[[Any], str]
    setting: type[Any]
    parts: Callable[[Any], Sequence[Part]]
    report: Callable[[Any, Results], Report]
    rules: str = COMPARISON_RULES
    why: str = ""

    def seconds(self, setting: Any) -> float:
        """About how long all of it takes on one core of the machine on which that was measured."""
        return sum(part.seconds for part in self.parts(setting))


def hidden_layers(widths: Sequence[int]) -> str:
    """Return layers of one width in words.

    Example:
        >>> hidden_layers((64, 64)), hidden_layers((32,))
        ('2 hidden layers of 64 units', '1 hidden layer of 32 units')
    """
    return f"{len(widths)} hidden layer{'s' * (len(widths) > 1)} of {widths[0]} units"


@dataclass(frozen=True)
class Setting:
    """What every experiment may be asked: from which seed, over how many of them, and on which device."""

    seeds: int = integer(
        8, 2, 16, label="Networks of each kind", help="Each from a seed of its own. Bands are 95% intervals."
    )
    seed: int = integer(0, 0, 9999, label="First seed")
    device: str = choice("auto", DEVICES, label="Train on")

    weighted: ClassVar[bool] = True
    """Whether a layer's weights stand in front of what is normalized, so that a scheme of the weights may."""

    @property
    def networks(self) -> tuple[int, ...]:
        """The seeds of the networks."""
        return tuple(range(self.seed, self.seed + self.seeds))


def read_own(given: Any, _: EarlierValues) -> str:
    """A scheme of one's own, as `own_text` writes it."""
    own_scheme(str(given))
    return str(given)


def own_text(scheme: Scheme) -> str:
    """A scheme of one's own as one text: what is averaged, what divides and, where there is one, what stands in front.

    Bars are between them: "own,full,full,full|own,full,full,full|weight".
    """
    row = SchemeSpec.of(scheme)
    fields = "|".join(field or "" for field in (row.summation, row.suppression))
    return fields if row.weight is None else f"{fields}|{row.weight}"


def own_scheme(text: str) -> Scheme:
    """The scheme of one's own that a text says, the custom one where it is empty; raises InvalidInput."""
    if not text:
        return SCHEMES["custom"]
    summation, bar, rest = text.partition("|")
    suppression, _, weight = rest.partition("|")
    if not bar:
        raise InvalidInput(f"own = {text!r}; two fields with a bar between them would do, as own,full,full,full|…")
    return SchemeSpec("custom", summation or None, suppression or None, weight or None).scheme


def refuse_front(row: SchemeSpec) -> None:
    """Raise InvalidInput where a scheme of the weights stands in front of what no layer's weights stand in front of."""
    if row.weight is not None:
        fields = own_text(row.scheme.with_weight_scheme(None))
        raise InvalidInput(f"own: no weights stand in front of what is normalized here; {fields} alone would do.")


def comparing(default: Sequence[str], keys: Sequence[str] = tuple(SCHEMES)) -> Any:
    """The declaration of the schemes that an experiment compares: those it starts with, and those to choose from."""
    return multiple_choice(tuple(default), {key: SCHEMES[key].label for key in keys}, label="Schemes")


@dataclass(frozen=True)
class Comparison(Setting):
    """An experiment that compares schemes on normalized layers; it gives `layer`, or a `shape` of its own."""

    layer: ClassVar[tuple[int, int]]
    """The examples of a mini-batch, and the units of the first normalized layer."""

    schemes: Sequence[str] = comparing(("none", "batch", "layer"))
    groups: int = number_choice(2, find_divisors(64), label="Groups G")
    radius: int = integer(1, 0, 63, label="Radius R", help="Of the windows of divisive normalization.")
    own: str = value("", read_own)
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))

    def __post_init__(self) -> None:
        if not self.schemes:
            raise InvalidInput("no scheme is chosen; one would do.")
        self.check(self.shape)

    def check(self, shape: Shape) -> None:
        """Raise InvalidInput where a scheme's fields do not fit summed inputs of this shape."""
        for row in self.rows:
            scheme = row.scheme.on_activations
            if scheme is not None:
                scheme.check(shape)

    @property
    def rows(self) -> tuple[SchemeSpec, ...]:
        """The schemes as plain data, with their parameters."""
        made = {"custom": own_scheme(self.own)}
        return tuple(
            SchemeSpec.of(made.get(key) or get_scheme(key, self.groups, self.radius))
            for key in dict.fromkeys(self.schemes)
        )

    @property
    def shape(self) -> Shape:
        """(N, H, W, C) of the first normalized layer: what a scheme of one's own is laid out on."""
        batch, units = self.layer
        return batch, 1, 1, units

    @property
    def labels(self) -> tuple[str, ...]:
        """What the schemes are called in figures."""
        return tuple(row.scheme.label for row in self.rows)

    @property
    def names(self) -> tuple[str, ...]:
        """What the schemes are called in sentences."""
        return tuple(
            row.scheme.name if row.key == "none" else row.scheme.name.replace("normalization", "norm")
            for row in self.rows
        )


def foremost(rows: Sequence[SchemeSpec], most: int = 4) -> list[int]:
    """Positions of the schemes for which a headline has room, in their order; those that most claims are of first."""
    asked = ("batch", "layer", "none")
    ranked = sorted(range(len(rows)), key=lambda k: (rows[k].key not in asked, k))
    return sorted(ranked[:most])


def command(experiment: Experiment, setting: Any) -> str:
    """What runs the same without a browser."""
    usual = experiment.setting()
    options = [
        f" --{name.replace('_', '-')} {quote(each.text(getattr(setting, name)))}"
        for name, each in get_declarations(experiment.setting).items()
        if getattr(setting, name) != getattr(usual, name)
    ]
    return f"normviz experiment {experiment.key}{''.join(options)}"
