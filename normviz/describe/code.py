"""The generator of code: templates that look like their code, filled in with facts.

A template only lays out: what follows from a scheme or a setting is decided where it is rendered, and comes as facts.
Templates are files of this package, and no other text is ever taken for one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from numbers import Integral, Real

from jinja2 import Environment, PackageLoader, StrictUndefined, Undefined

from normviz.core.fields import FULL, Rule
from normviz.core.scheme import Scheme


def format_as_code(value: object) -> str:
    """Return a value as Python code: text unchanged, numbers and tuples of numbers by their repr.

    Raises TypeError for anything else, which could only stand in code by mistake.
    """
    if isinstance(value, str):
        return value
    if isinstance(value, Integral) and not isinstance(value, bool):
        return repr(int(value))
    if isinstance(value, Real) and not isinstance(value, bool):
        return repr(float(value))
    if isinstance(value, tuple):
        return f"({', '.join(map(format_as_code, value))}{',' * (len(value) == 1)})"
    if isinstance(value, Undefined):
        return str(value)  # raises, and says what is undefined
    raise TypeError(f"{value!r} is not text, a number or a tuple of them, so it does not belong in code.")


_TEMPLATES = Environment(
    loader=PackageLoader("normviz.describe"),
    undefined=StrictUndefined,
    finalize=format_as_code,
    autoescape=False,  # Python, not HTML
    trim_blocks=True,
    lstrip_blocks=True,
    keep_trailing_newline=True,
    auto_reload=False,
)


def format_argument_code(scheme: Scheme, x: str) -> str:
    """Format αx + s, the argument of a pointwise scheme's function, as code: "0.5 * x"."""
    return f"{float(scheme.alpha)} * {x}" + (f" + {scheme.shift}" if scheme.shift else "")


def render_template(template: str, **facts: object) -> str:
    """Return the text of a code template in the folder `templates`; raise UndefinedError for a fact that is missing."""
    return _TEMPLATES.get_template(template).render(facts)


@dataclass(frozen=True)
class AveragingStep:
    """One step of the code that averages over a field: the axes, and groups or a window.

    kind: "full", over whole axes; "groups" or "window", over each of those along one axis. axes: these axes, by
    position. number: of the elements of whole axes, where it is known; of the groups; or the radius of the windows.
    """

    kind: str
    axes: tuple[int, ...]
    number: int | None

    @property
    def axis(self) -> int | tuple[int, ...]:
        """The argument `axis` of the step in code: one number, or a tuple of several."""
        return self.axes[0] if len(self.axes) == 1 else self.axes


def list_averaging_steps(rules: Sequence[Rule], shape: Sequence[int] | None = None) -> tuple[AveragingStep, ...]:
    """List the steps that average over a field: first whole axes, then groups and windows axis by axis.

    The list is empty if every box is a single element. `shape`: of the tensor, to count the elements of whole axes.
    """
    whole = tuple(axis for axis, rule in enumerate(rules) if rule == FULL)
    count = None if shape is None else prod(shape[axis] for axis in whole)
    parts = (
        AveragingStep(rule.kind, (axis,), rule.parameter)
        for axis, rule in enumerate(rules)
        if rule.parameter is not None
    )
    return *([AveragingStep("full", whole, count)] if whole else []), *parts
