"""An experiment: its setting, its jobs and the report on their results.

Jobs are frozen plain data that run in any order and in any process. Their results are named arrays, cached by the
digest of the job. So a change of a setting recomputes only the jobs that it changes, and an interruption loses no
finished job.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from shlex import quote
from typing import Any, ClassVar, Self

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Shape, find_divisors
from normviz.core.registry import CUSTOM_SCHEME, DEFAULT_EPS, SCHEMES, Scheme, get_scheme
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
from normviz.jobs.results import ArrayJob, Results
from normviz.topics.experiments.experiment_texts import EXPERIMENT_TEXTS, ExperimentText
from normviz.topics.experiments.reports import Report
from normviz.train.setting import DEVICES


@dataclass(frozen=True, kw_only=True)
class Experiment(ExperimentText):
    """One experiment: its texts, the class of its settings, and the functions that list jobs and report on results.

    Attributes:
        setting: a frozen dataclass of declarations, `Setting` or one built on it; it raises InvalidInput.
        list_jobs: (setting) -> its jobs.
        report: (setting, results) -> the report; also of some results, or none.
        about: (setting) -> the data and the network, in a line.
        test: (setting) -> how the claim is tested, with every word that headline and figure use.
    """

    setting: type[Any]
    list_jobs: Callable[[Any], Sequence[ArrayJob]]
    report: Callable[[Any, Results], Report]
    about: Callable[[Any], str]
    test: Callable[[Any], str]

    @classmethod
    def of(
        cls, key: str, setting: type[Any], list_jobs: Callable[[Any], Sequence[ArrayJob]],
        report: Callable[[Any, Results], Report], about: Callable[[Any], str], test: Callable[[Any], str],
    ) -> Self:  # fmt: skip
        """Make the experiment `key`, with its texts from `EXPERIMENT_TEXTS`."""
        texts = vars(EXPERIMENT_TEXTS[key])
        return cls(**texts, setting=setting, list_jobs=list_jobs, report=report, about=about, test=test)

    def estimate_seconds(self, setting: Any) -> float:
        """Return the expected seconds of all jobs of a setting on one core of the reference machine."""
        return sum(job.seconds for job in self.list_jobs(setting))


def describe_hidden_layers(widths: Sequence[int]) -> str:
    """Return the number of hidden layers and the width of the first one in words.

    Example:
        >>> describe_hidden_layers((64, 64)), describe_hidden_layers((32,))
        ('2 hidden layers of 64 units', '1 hidden layer of 32 units')
    """
    return f"{len(widths)} hidden layer{'s' * (len(widths) > 1)} of {widths[0]} units"


@dataclass(frozen=True)
class Setting:
    """Settings of every experiment: the seeds of the networks, and the device."""

    seeds: int = integer(
        8,
        2,
        16,
        label="Networks of each kind",
        help="Each from a seed of its own. Bands and bars are 95% confidence intervals.",
    )
    seed: int = integer(0, 0, 9999, label="First seed")
    device: str = choice("auto", DEVICES, label="Train on")

    weighted: ClassVar[bool] = True
    """True if the normalized values come from a layer's weights, so that weight schemes apply."""

    has_scheme_curves: ClassVar[bool] = True
    """True if the first figure draws the chosen schemes; their buttons then stand above it, not under "Advanced"."""

    @property
    def networks(self) -> tuple[int, ...]:
        """The seeds of the networks, one each."""
        return tuple(range(self.seed, self.seed + self.seeds))


def validate_custom_scheme(text: Any, _: EarlierValues) -> str:
    """Return the text of a custom scheme unchanged, or raise InvalidInput if `parse_custom_scheme` cannot read it."""
    parse_custom_scheme(str(text))
    return str(text)


def format_custom_scheme(scheme: Scheme) -> str:
    """Return a custom scheme as text: summation field, suppression field and, if any, weight scheme.

    Bars separate them: "own,full,full,full|own,full,full,full|weight".
    """
    row = SchemeSpec.of(scheme)
    fields = "|".join(field or "" for field in (row.summation, row.suppression))
    return fields if row.weight is None else f"{fields}|{row.weight}"


def parse_custom_scheme(text: str) -> Scheme:
    """Parse a text of `format_custom_scheme`; "" gives the registered custom scheme. Raises InvalidInput."""
    if not text:
        return CUSTOM_SCHEME
    summation, bar, rest = text.partition("|")
    suppression, _, weight = rest.partition("|")
    if not bar:
        raise InvalidInput(f"own = {text!r}; two fields with a bar between them would do, as own,full,full,full|…")
    return SchemeSpec(CUSTOM_SCHEME.key, summation or None, suppression or None, weight or None).scheme


def specify_scheme(key: str, own: str, groups: int, radius: int) -> SchemeSpec:
    """Return the scheme `key` as plain data, with its groups or radius; a custom one is parsed from the text `own`."""
    custom = SCHEMES[key].is_custom
    return SchemeSpec.of(parse_custom_scheme(own) if custom else get_scheme(key, groups, radius))


def reject_weight_scheme(row: SchemeSpec) -> None:
    """Raise InvalidInput if a scheme normalizes weights, for experiments without weights before the normalization."""
    if row.weight is not None:
        fields = format_custom_scheme(row.scheme.with_weight_scheme(None))
        raise InvalidInput(f"own: no weights stand in front of what is normalized here; {fields} alone would do.")


SCHEME_STYLES = {"none": 0, "batch": 1, "layer": 2}
"""Numbers of the colours that a scheme has in every figure, as on the other pages; see `style_curve`."""


def choose_styles(keys: Sequence[str]) -> tuple[int, ...]:
    """Return the index of each scheme's curve style (colour, dash, marker): its own, or else the next free one.

    Example:
        >>> choose_styles(["batch", "rms", "layer", "weight"])
        (1, 3, 2, 4)
    """
    free = count(len(SCHEME_STYLES))
    return tuple(SCHEME_STYLES[key] if key in SCHEME_STYLES else next(free) for key in keys)


def declare_schemes(default: Sequence[str], keys: Sequence[str] = tuple(SCHEMES)) -> Any:
    """Return the declaration of a setting "schemes" for a dataclass: its default keys, and all keys to choose from."""
    return multiple_choice(tuple(default), {key: SCHEMES[key].label for key in keys}, label="Schemes")


@dataclass(frozen=True)
class ComparisonSetting(Setting):
    """Settings of an experiment that compares schemes; subclasses define `layer` or override `shape`."""

    layer: ClassVar[tuple[int, int]]
    """Examples of a mini-batch, and units of the first normalized layer."""

    schemes: Sequence[str] = declare_schemes(("none", "batch", "layer"))
    groups: int = number_choice(2, find_divisors(64), label="Groups G")
    radius: int = integer(1, 0, 63, label="Radius R", help="Of the windows of divisive normalization.")
    own: str = value("", validate_custom_scheme)
    eps: float = real(DEFAULT_EPS, 0.0, 1.0, label="ε (smoothing term)", symbol="ε", stops=(0.0, 1e-8, 1e-5, 1e-3, 0.1))

    def __post_init__(self) -> None:
        if not self.schemes:
            raise InvalidInput("no scheme is chosen; one would do.")
        self.check(self.shape)

    def check(self, shape: Shape) -> None:
        """Raise InvalidInput if a scheme cannot normalize this shape, for example if its groups do not divide C."""
        for row in self.rows:
            scheme = row.scheme.activation_part
            if scheme is not None:
                scheme.check(shape)

    @property
    def rows(self) -> tuple[SchemeSpec, ...]:
        """The chosen schemes as plain data, with their parameters, in their order."""
        keys = dict.fromkeys(self.schemes)
        return tuple(specify_scheme(key, self.own, self.groups, self.radius) for key in keys)

    @property
    def shape(self) -> Shape:
        """The shape (N, H, W, C) of the first normalized layer, on which a custom scheme is defined."""
        batch, units = self.layer
        return batch, 1, 1, units

    @property
    def labels(self) -> tuple[str, ...]:
        """The names of the schemes in figures: as in sentences, or shorter."""
        return tuple(
            row.scheme.label.lower() if row.key == "none" or row.scheme.is_custom else name
            for row, name in zip(self.rows, self.names, strict=True)
        )

    @property
    def styles(self) -> tuple[int, ...]:
        """The indices of the schemes' curve styles."""
        return choose_styles([row.key for row in self.rows])

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the schemes in sentences."""
        return tuple(
            row.scheme.name if row.key == "none" else row.scheme.name.replace("normalization", "norm")
            for row in self.rows
        )


def averages_over_examples(row: SchemeSpec, shape: Shape) -> bool:
    """Return True if a scheme averages over several examples of the mini-batch, as batch norm does."""
    scheme = row.scheme.activation_part
    return scheme is not None and any(field.simplify(shape).rules[0] != OWN for field in scheme.fields)


def choose_headline_schemes(rows: Sequence[SchemeSpec], max_count: int = 4) -> list[int]:
    """Return the positions of at most `max_count` schemes, first of batch norm, layer norm and no normalization."""
    asked = ("batch", "layer", "none")
    ranked = sorted(range(len(rows)), key=lambda k: (rows[k].key not in asked, k))
    return sorted(ranked[:max_count])


def format_run_command(experiment: Experiment, setting: Any) -> str:
    """Return the `normviz experiment` command that runs this setting, with options for values other than defaults."""
    usual = experiment.setting()
    options = [
        f" --{name.replace('_', '-')} {quote(each.format_for_link(getattr(setting, name)))}"
        for name, each in get_declarations(experiment.setting).items()
        if getattr(setting, name) != getattr(usual, name)
    ]
    return f"normviz experiment {experiment.key}{''.join(options)}"
