"""A setting is declared once: what follows for the object that holds it, and for the command line."""

import pickle
from argparse import ArgumentParser
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, asdict, dataclass, replace

import pytest
from declared import EVERY_DECLARATION, EVERY_KIND
from hypothesis import example, given, settings
from hypothesis import strategies as st

from normviz.cli.setting_options import add_setting_options
from normviz.core.errors import InvalidInput
from normviz.core.settings import (
    MAX_SIDE_BY_SIDE,
    Choice,
    CustomValue,
    DependentValue,
    Integer,
    MultipleChoice,
    Real,
    Switch,
    build_settings,
    choice,
    find_closest,
    get_declarations,
    integer,
    multiple_choice,
    number_choice,
    real,
    switch,
    value,
)
from normviz.core.text import typeset


def even(given, values):
    """The nearest even number."""
    return 2 * round(float(given) / 2)


@dataclass(frozen=True)
class Cake:
    """One declaration of every kind."""

    shape: str = choice("round", {"round": "Round", "square": "Square"}, label="Shape")
    size: float = real(
        DependentValue("shape", {"round": 26.0, "square": 20.0}), 1.0, 50.0, label="Size", help="In cm.", symbol="s"
    )
    layers: int = integer(
        3, 1, lambda given: 2 * given["size"], label=DependentValue("shape", {"round": "Discs", "square": "Slabs"})
    )
    heat: float = real(180.0, 50, 250, entered=(-10, 250), because="cakes are baked")
    slices: int = number_choice(4, lambda given: [n for n in (1, 2, 4, 8, 16) if n <= given["layers"] * 4])
    topping: Sequence[str] = multiple_choice(("sugar",), ("sugar", "cream", "fruit"))
    vegan: bool = switch(False)
    candles: int = value(2, even)


@dataclass(frozen=True)
class Party(Cake):
    """What is declared beside what a base declares."""

    guests: int = integer(5, 1, 99)
    note: str = "not declared"


def frozen(value):
    """As an object holds it, which holds no lists."""
    return tuple(value) if isinstance(value, list) else value


def refused(make, **values):
    with pytest.raises(InvalidInput) as error:
        make(**values)
    assert "\n" not in str(error.value)
    return str(error.value)


# --- the object ---------------------------------------------------------------------------------------------------


def test_what_is_not_given_is_its_default_which_may_depend_on_what_is():
    assert asdict(Cake()) == {
        "shape": "round", "size": 26.0, "layers": 3, "heat": 180.0, "slices": 4, "topping": ("sugar",), "vegan": False,
        "candles": 2,
    }  # fmt: skip
    assert Cake("square").size == 20.0
    assert Cake(shape="square", size=9).size == 9
    assert Cake(size=None, vegan=None) == Cake()


def test_a_value_that_is_replaced_leaves_the_others_as_they_are():
    assert replace(Cake(), shape="square") == Cake("square", 26.0)
    assert replace(Cake(), shape="square", size=None) == Cake("square")
    assert refused(lambda **values: replace(Cake(), **values), layers=0).startswith("layers = 0; ")


def test_it_is_a_frozen_value():
    assert pickle.loads(pickle.dumps(Cake("square"))) == Cake("square")
    assert len({Cake(), Cake(size=26.0), Cake(size=25.0)}) == 2
    with pytest.raises(FrozenInstanceError):
        Cake().size = 9
    with pytest.raises(TypeError, match="sise"):
        Cake(sise=3)


def test_a_class_declares_beside_its_base():
    assert list(get_declarations(Party)) == [*get_declarations(Cake), "guests"]
    assert Party("square", guests=7).size == 20.0
    assert Party().note == "not declared"
    assert get_declarations(Party)["size"] is get_declarations(Cake)["size"]


def test_it_is_built_from_values_of_which_there_may_be_more():
    values = {"shape": "square", "guests": 3, "size": None, "anything": 1}
    assert build_settings(Cake, values) == Cake("square")
    assert build_settings(Party, values) == Party("square", guests=3)


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"shape": "oval"}, "shape = 'oval'; round or square would do."),
        ({"shape": 3}, "shape = 3; round or square would do."),
        ({"size": 0}, "s = 0; a number from 1 to 50 would do."),
        ({"size": float("nan")}, "s = nan; a number from 1 to 50 would do."),
        ({"size": float("inf")}, "s = inf; a number from 1 to 50 would do."),
        ({"size": "9"}, "s = '9'; a number from 1 to 50 would do."),
        ({"size": 1 + 2j}, "s = (1+2j); a number from 1 to 50 would do."),
        ({"layers": 53}, "layers = 53; a whole number from 1 to 52 would do."),
        ({"size": 2.5, "layers": 6}, "layers = 6; a whole number from 1 to 5 would do."),
        ({"layers": 2.0}, "layers = 2.0; a whole number from 1 to 52 would do."),
        ({"heat": -5}, "heat = −5; a number from 50 to 250 would do: cakes are baked."),
        ({"heat": float("nan")}, "heat = nan; a number from 50 to 250 would do: cakes are baked."),
        ({"heat": 1e6}, "heat = 1000000; a number from 50 to 250 would do."),
        ({"heat": "hot"}, "heat = 'hot'; a number from 50 to 250 would do."),
        ({"slices": 3}, "slices = 3; 1, 2, 4 or 8 would do."),
        ({"layers": 1, "slices": 8}, "slices = 8; 1, 2 or 4 would do."),
        ({"topping": ["sugar", "salt"]}, "topping = 'salt'; sugar, cream or fruit would do."),
        ({"vegan": 1}, "vegan = 1; True or False would do."),
        ({"vegan": "yes"}, "vegan = 'yes'; True or False would do."),
        ({"candles": 5}, "candles = 5; 4 would do."),
    ],
)
def test_what_is_wrong_is_told_in_one_line(values, message):
    assert refused(Cake, **values) == message


def test_a_default_gives_way_to_what_is_given_before_it():
    assert Cake(size=1).layers == 2
    assert Cake(layers=1, size=9).slices == 4
    assert Cake(size=1, layers=1, slices=2) == Cake(size=1, layers=1, slices=2)


@EVERY_KIND
def test_a_value_is_that_of_its_text(kind):
    made = kind()
    for name, declared in get_declarations(kind).items():
        value = getattr(made, name)
        assert frozen(declared.find_nearest_value(declared.format_for_link(value), vars(made))) == value


@EVERY_DECLARATION
def test_what_is_wrong_in_the_app_is_told_by_name(kind, declared):
    wrong = "yes" if isinstance(declared, Switch) else ["no such"] if isinstance(declared, MultipleChoice) else 1e300
    if not isinstance(declared, CustomValue):
        message = refused(kind, **{declared.name: wrong})
        assert message.startswith(f"{declared.symbol or declared.name} = ")
        assert message.endswith(" would do.")
    if isinstance(declared, Real):
        least, most = declared.compute_limits(vars(kind()))
        for near in (least, most):
            assert getattr(kind(**{declared.name: near}), declared.name) == near
        for beyond in (least - 1, most + 1, float("nan"), float("-inf")):
            assert f" from {typeset(least)} to {typeset(most)} would do" in refused(kind, **{declared.name: beyond})


# --- the nearest --------------------------------------------------------------------------------------------------


@EVERY_DECLARATION
@settings(max_examples=20)
@given(text=st.text(max_size=9) | st.floats().map(str) | st.integers().map(str))
@example("nan")
@example("1e999")
@example("-1e999")
@example("")
def test_any_text_is_near_a_valid_value_or_near_none(kind, declared, text):
    values = vars(kind())
    try:
        found = declared.find_nearest_or_default(text, values)
    except (ValueError, OverflowError):
        return
    if isinstance(declared, Real) and declared.entered:
        assert declared.entered[0] <= found <= declared.entered[1]
        return
    declared.check(found, values)
    assert declared.find_nearest_or_default(declared.format_for_link(found), values) == found


@EVERY_DECLARATION
def test_nothing_given_is_nearest_to_the_default(kind, declared):
    values = vars(kind())
    assert frozen(declared.find_nearest_or_default(None, values)) == values[declared.name]


@EVERY_DECLARATION
def test_a_misspelt_word_is_the_most_alike(kind, declared):
    if isinstance(declared, Choice):
        for key in declared.list_options({}):
            assert declared.find_nearest_value(f"{key.upper()}x", {}) in (key, [key])
            assert declared.find_nearest_value(key, {}) in (key, [key])
        with pytest.raises(ValueError, match="is like none of"):
            declared.find_nearest_value("?", {})


@EVERY_DECLARATION
def test_a_number_is_cut_at_its_limits_and_rounded(kind, declared):
    if isinstance(declared, Real):
        values = vars(kind())
        least, most = declared.entered or declared.compute_limits(values)
        assert declared.find_nearest_value("-1e300", values) == least
        assert declared.find_nearest_value(str(most + 0.4), values) == most
        middle = declared.find_nearest_value(str((least + most) / 2 + 0.1), values)
        assert type(middle) is (int if isinstance(declared, Integer) else float)
        assert middle == pytest.approx((least + most) / 2 + 0.1, abs=0.6 if isinstance(declared, Integer) else 1e-9)
        with pytest.raises(ValueError, match="NaN"):
            declared.find_nearest_value("nan", values)


# --- the command line ---------------------------------------------------------------------------------------------


def options_of(kind, *arguments):
    parser = ArgumentParser(exit_on_error=False)
    add_setting_options(parser, kind)
    return parser.parse_args(arguments), " ".join(parser.format_help().split())


@EVERY_DECLARATION
def test_every_value_has_an_option(kind, declared):
    made = kind()
    assert build_settings(kind, vars(options_of(kind)[0])) == made
    if isinstance(declared, Switch):
        for given_, on in ((f"--{declared.name}", True), (f"--no-{declared.name}", False)):
            assert getattr(build_settings(kind, vars(options_of(kind, given_)[0])), declared.name) is on
        return
    other = {
        Real: lambda: declared.compute_limits(vars(made))[0], Integer: lambda: declared.compute_limits(vars(made))[1],
        Choice: lambda: declared.list_options(vars(made))[-1],
        MultipleChoice: lambda: tuple(declared.list_options(vars(made))[-2:]),
    }.get(type(declared), lambda: getattr(made, declared.name))()  # fmt: skip
    arguments, _ = options_of(kind, f"--{declared.name.replace('_', '-')}={declared.format_for_link(other)}")
    assert getattr(build_settings(kind, vars(arguments)), declared.name) == other


def test_the_help_says_what_a_value_may_be_and_is():
    _, words = options_of(Cake)
    for part in (
        "--shape round|square Shape; by default round",
        "--size X Size. In cm; 1 to 50; by default 26 for round, 20 for square",
        "--layers N Discs or Slabs; by default 3",
        "--heat X 50 to 250; by default 180",
        "--topping K,K by default sugar",
        "--vegan, --no-vegan by default 0",
    ):
        assert part in words


@pytest.mark.parametrize(("number", "nearest"), [(3, 2), (3.1, 4), (-7, 1), (1e9, 8), (6, 4)])
def test_the_closest_of_some_numbers_is_the_smaller_of_two(number, nearest):
    assert find_closest((1, 2, 4, 8), number) == nearest


@pytest.mark.parametrize(
    ("count", "control"), [(2, "segments"), (MAX_SIDE_BY_SIDE, "segments"), (MAX_SIDE_BY_SIDE + 1, "menu")]
)
def test_a_few_choices_stand_side_by_side(count, control):
    assert Choice("0", [str(k) for k in range(count)]).control == control
    assert Choice("0", [str(k) for k in range(count)], control="pills").control == "pills"
