"""Settings, each declared once: default, valid values, label, and text.

A declaration stands in a frozen dataclass in place of its value:

    @dataclass(frozen=True)
    class Setting:
        layer: str = choice("dense", {"dense": "Dense", "conv": "Conv"}, label="Layer")
        width: int = integer(DependentValue("layer", {"dense": 32, "conv": 8}), 2, 128, label="Width")

A declaration is a descriptor: the dataclass passes it every value, or the declaration itself for a missing one. So
`Setting(layer="conv")` is complete and checked. None, too, stands for the default. From the same declaration follow the
option on the command line (`normviz.cli.setting_options`), the value in a page's link (`normviz.ui.link`) and the
control on the page (`normviz.ui.settings`).
"""

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, fields, replace
from difflib import get_close_matches
from functools import lru_cache
from numbers import Integral
from numbers import Real as RealNumber
from typing import Any, ClassVar, TypeVar

from normviz.core.errors import InvalidInput
from normviz.core.text import format_exact, join_words, typeset

T = TypeVar("T")

EarlierValues = Mapping[str, Any]
"""Values by name of the settings that are declared before one."""

MAX_SIDE_BY_SIDE = 3
"""Largest number of choices drawn side by side on a page; more are drawn as a menu."""


@dataclass(frozen=True)
class DependentValue:
    """Default that depends on another value: `DependentValue("optimizer", RATES)` stands for `RATES[optimizer]`."""

    name: str
    table: Mapping[Any, Any]

    def resolve(self, earlier: EarlierValues) -> Any:
        """Return the value for these values of the settings declared earlier."""
        return self.table[earlier[self.name]]


@dataclass(eq=False)
class Declaration:
    """Declaration of one setting: its default, its valid values and its texts.

    Attributes:
        default: the value, or a `DependentValue`; None for a value that may be left open.
        label: of its control, in a word or two; a value without a label has no control of its own.
        help: what the label does not say, in a sentence.
        symbol: its name in messages, if it differs from the name in code.
        control: its widget, a key of `normviz.ui.settings.WIDGETS`; empty for the usual widget of this type.
        shown: (value) -> text on a page.
        why: (given value, view) -> why a page replaces it, to end a sentence; "" for no note; None for the usual one.
        missing: (view) -> a page's note on missing data; "" where there is none.
        name: of the dataclass's field; also in the link and, after "--", on the command line.
    """

    default: Any
    _: KW_ONLY
    label: str | DependentValue | Callable[[Any], str] = ""
    help: str = ""
    symbol: str = ""
    control: str = ""
    shown: Callable[[Any], str] | None = None
    why: Callable[[Any, Any], str | None] = lambda given, view: None
    missing: Callable[[Any], str] = lambda view: ""
    name: str = field(default="", init=False)

    USUAL: ClassVar[str] = ""
    OPTION: ClassVar[dict[str, Any]] = {}

    def __post_init__(self) -> None:
        self.control = self.control or self.choose_widget()

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def __set__(self, instance: object, value: Any) -> None:
        values = vars(instance)
        value = self.resolve_default(values) if value is None or value is self else value
        if value is not None:
            self.check(value, values)
        values[self.name] = tuple(value) if isinstance(value, list) else value

    def choose_widget(self) -> str:
        """Return the key of the widget that draws this setting on a page."""
        return self.USUAL

    def resolve_default(self, earlier: EarlierValues) -> Any:
        """Return the default, or the valid value nearest to it, given the settings declared earlier."""
        default = self.default.resolve(earlier) if isinstance(self.default, DependentValue) else self.default
        return None if default is None else self.find_nearest_value(default, earlier)

    def resolve_label(self, earlier: EarlierValues) -> str:
        """Return the label of the control, which may depend on the settings declared earlier."""
        if isinstance(self.label, str):
            return self.label
        return self.label.resolve(earlier) if isinstance(self.label, DependentValue) else self.label(earlier)

    def check(self, value: Any, earlier: EarlierValues) -> None:
        """Raise InvalidInput if a value is not valid, given the settings declared earlier."""
        raise NotImplementedError

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> Any:
        """Return the valid value nearest to `value`, which may be text; raise ValueError if none is near.

        `earlier`: the values of the settings that are declared before this one.
        """
        raise NotImplementedError

    def find_nearest_or_default(self, value: Any, earlier: EarlierValues) -> Any:
        """Return the default for None, otherwise the valid value nearest to `value`, which may be text."""
        return self.resolve_default(earlier) if value is None else self.find_nearest_value(value, earlier)

    def format_for_link(self, value: Any) -> str:
        """Return the value as text for a link and the command line."""
        return str(value)

    def format_for_page(self, value: Any) -> str:
        """Return the value as text for a page."""
        return self.shown(value) if self.shown else self.format_for_link(value)

    def make_argparse_kwargs(self) -> dict[str, Any]:
        """Return the keyword arguments of argparse's `add_argument` for this setting, without help and default."""
        return self.OPTION

    def format_limits(self) -> str:
        """Return the limits as text, "1 to 50", or an empty text if there are none."""
        return ""

    def _make_refusal(self, value: Any, wanted: str, because: str = "") -> InvalidInput:
        came = self.format_for_link(value).replace("-", "−") if isinstance(value, RealNumber) else repr(value)
        reason = f": {because}" if because else ""
        return InvalidInput(f"{self.symbol or self.name} = {came}; {wanted} would do{reason}.")


@dataclass(eq=False)
class Real(Declaration):
    """Declaration of a number from `least` to `most`; `most` may depend on settings declared earlier.

    Attributes:
        stops: what its slider offers.
        entered: the limits of what a link and the page take, where these are wider than `least` and `most`: the page
            then says why it refuses a value.
        because: why a value is too small, as the end of a sentence.
    """

    least: float
    most: float | Callable[[EarlierValues], float]
    _: KW_ONLY
    stops: Sequence[float] = ()
    entered: tuple[float, float] | None = None
    because: str = ""

    OPTION: ClassVar[dict[str, Any]] = {"type": float, "metavar": "X"}
    NOUN: ClassVar[str] = "a number"
    KIND: ClassVar[Any] = RealNumber

    def choose_widget(self) -> str:
        return "stops" if self.stops else "number"

    def compute_limits(self, earlier: EarlierValues) -> tuple[float, float]:
        """Return the smallest and the largest valid value, given the settings declared earlier."""
        return self.least, self.most(earlier) if callable(self.most) else self.most

    def check(self, value: Any, earlier: EarlierValues) -> None:
        least, most = self.compute_limits(earlier)
        number = isinstance(value, self.KIND)
        if not number or not least <= value <= most:
            because = self.because if number and not value > most else ""
            raise self._make_refusal(value, f"{self.NOUN} from {typeset(least)} to {typeset(most)}", because)

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> float:
        least, most = self.entered or self.compute_limits(earlier)
        return min(max(_parse_number(value), least), most)

    def format_for_link(self, value: Any) -> str:
        return format_exact(value)

    def format_for_page(self, value: Any) -> str:
        return self.shown(value) if self.shown else typeset(value)

    def format_limits(self) -> str:
        return "" if callable(self.most) else f"{self.least:g} to {self.most:g}"


@dataclass(eq=False)
class Integer(Real):
    """Declaration of a whole number from `least` to `most`."""

    OPTION: ClassVar[dict[str, Any]] = {"type": int, "metavar": "N"}
    NOUN: ClassVar[str] = "a whole number"
    KIND: ClassVar[Any] = Integral

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> int:
        least, most = self.entered or self.compute_limits(earlier)
        return int(min(max(round(float(value)), least), most))

    def format_for_link(self, value: Any) -> str:
        return str(value)


@dataclass(eq=False)
class NumberChoice(Declaration):
    """Declaration of one of several whole numbers, which may depend on settings declared earlier."""

    numbers: Sequence[int] | Callable[[EarlierValues], Sequence[int]]

    USUAL: ClassVar[str] = "menu"
    OPTION: ClassVar[dict[str, Any]] = {"type": int, "metavar": "N"}

    def list_options(self, earlier: EarlierValues) -> Sequence[int]:
        """Return the valid numbers, given the settings declared earlier."""
        return self.numbers(earlier) if callable(self.numbers) else self.numbers

    def check(self, value: Any, earlier: EarlierValues) -> None:
        if value not in self.list_options(earlier):
            raise self._make_refusal(value, join_words(self.list_options(earlier)))

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> int:
        return find_closest(self.list_options(earlier), _parse_number(value))


@dataclass(eq=False)
class Choice(Declaration):
    """Declaration of one of several keys, such as "sgd" or "adam".

    Attributes:
        of: the keys, or the text on a page for every key; may depend on settings declared earlier.
    """

    of: Sequence[str] | Mapping[str, str] | Callable[[EarlierValues], Sequence[str]]

    def choose_widget(self) -> str:
        return "menu" if callable(self.of) or len(self.of) > MAX_SIDE_BY_SIDE else "segments"

    def list_options(self, earlier: EarlierValues) -> list[str]:
        """Return the valid keys, given the settings declared earlier."""
        return list(self.of(earlier) if callable(self.of) else self.of)

    def check(self, value: Any, earlier: EarlierValues) -> None:
        options = self.list_options(earlier)
        if value not in options:
            raise self._make_refusal(value, join_words(options))

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> Any:
        """Return the valid key closest in spelling."""
        options = self.list_options(earlier)
        if value in options:
            return value
        alike = get_close_matches(str(value).lower()[:80], options, n=1)
        if not alike:
            raise ValueError(f"{value} is like none of {options}")
        return alike[0]

    def format_for_page(self, value: Any) -> str:
        if self.shown or not isinstance(self.of, Mapping):
            return super().format_for_page(value)
        return self.of[value]

    def make_argparse_kwargs(self) -> dict[str, Any]:
        return {} if callable(self.of) else {"metavar": "|".join(self.of)}


@dataclass(eq=False)
class MultipleChoice(Choice):
    """Declaration of several keys in a chosen order; as text, they have commas between them."""

    def choose_widget(self) -> str:
        return "pills"

    def check(self, value: Any, earlier: EarlierValues) -> None:
        for key in value:
            super().check(key, earlier)

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> list[str]:
        """Return the distinct valid keys closest in spelling to those in `value`, which may be text."""
        nearest = super().find_nearest_value
        return list(dict.fromkeys(nearest(key, earlier) for key in _parse_keys(value)))

    def format_for_page(self, value: Any) -> str:
        """Return one or several keys as text for a page."""
        if isinstance(value, str):
            return super().format_for_page(value)
        return ", ".join(map(super().format_for_page, value)) or "none"

    def format_for_link(self, value: Any) -> str:
        return ",".join(value)

    def make_argparse_kwargs(self) -> dict[str, Any]:
        return {"type": _parse_keys, "metavar": "K,K"}


@dataclass(eq=False)
class Switch(Declaration):
    """Declaration of a value that is on or off: 1 or 0 in a link, --name or --no-name on the command line."""

    USUAL: ClassVar[str] = "toggle"
    OPTION: ClassVar[dict[str, Any]] = {"action": argparse.BooleanOptionalAction}

    def check(self, value: Any, earlier: EarlierValues) -> None:
        if not isinstance(value, bool):
            raise self._make_refusal(value, "True or False")

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> bool:
        """Return True for True and words such as "on", otherwise False."""
        return value is True or str(value).lower() in ("1", "true", "yes", "on")

    def format_for_link(self, value: Any) -> str:
        return str(int(value))


@dataclass(eq=False)
class CustomValue(Declaration):
    """Declaration of a value of any type, with functions that parse and format it; the page draws its control.

    Attributes:
        reads: (value or text, settings declared earlier) -> the nearest valid value; raises ValueError if none is near.
        writes: (value) -> text for a link.
    """

    reads: Callable[[Any, Any], Any]
    writes: Callable[[Any], str] = str

    def check(self, value: Any, earlier: EarlierValues) -> None:
        nearest = self.reads(value, earlier)
        if nearest != value:
            raise self._make_refusal(value, self.format_for_link(nearest))

    def find_nearest_value(self, value: Any, earlier: EarlierValues) -> Any:
        return self.reads(value, earlier)

    def format_for_link(self, value: Any) -> str:
        return self.writes(value)


# A declaration stands where a value of the field's type will be: to a type checker, these make anything.
real: Callable[..., Any] = Real
integer: Callable[..., Any] = Integer
number_choice: Callable[..., Any] = NumberChoice
choice: Callable[..., Any] = Choice
multiple_choice: Callable[..., Any] = MultipleChoice
switch: Callable[..., Any] = Switch
value: Callable[..., Any] = CustomValue


def replace_default(declared: Any, default: Any) -> Any:
    """Return a copy of a declaration with another default, to override it in a subclass of the settings."""
    return replace(declared, default=default)


def get_declarations(settings_class: type) -> Mapping[str, Declaration]:
    """Return the declarations of a settings dataclass by name, in order, those of its bases first."""
    return _find_declarations(settings_class)  # behind this function, as mypy does not take a type for a key of a cache


@lru_cache(maxsize=128)
def _find_declarations(settings_class: type) -> Mapping[str, Declaration]:
    found = {each.name: getattr(settings_class, each.name, None) for each in fields(settings_class)}
    return {name: each for name, each in found.items() if isinstance(each, Declaration)}


def build_settings(settings_class: type[T], values: EarlierValues) -> T:
    """Build a settings object from values by name; other names are ignored. Raises InvalidInput."""
    return settings_class(**{name: values[name] for name in get_declarations(settings_class) if name in values})


def find_closest(numbers: Sequence[int], number: float) -> int:
    """Return the number in a list nearest to `number`, the smaller of two equally near ones."""
    return min(numbers, key=lambda candidate: (abs(candidate - number), candidate))


def _parse_number(value: Any) -> float:
    """Return a number, or the number that a text holds. Raises ValueError for NaN and other texts."""
    number = float(value)
    if number != number:
        raise ValueError("NaN is near nothing")
    return number


def _parse_keys(value: Any) -> list[str]:
    """Return the keys of a list, or of a text with commas between keys."""
    keys = value.split(",") if isinstance(value, str) else value
    return [key.strip() for key in keys if key.strip()]
