"""The update of a running average as the page prints it: the sum holds in the printed digits."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lab_page import open_lab

from normviz.running.averages import write_update
from normviz.running.panels.stream import count_digits

NUMBERS = st.floats(-1e3, 1e3).filter(lambda each: each == 0 or abs(each) > 1e-6)


@given(st.floats(0, 1).map(lambda each: round(each, 6)), st.sampled_from([1.0, 2.0, 32 / 31]), NUMBERS, NUMBERS)
def test_the_printed_sum_holds(share, factor, old, value):
    kept, part, *printed = write_update(share, factor, old, value)
    first, second, new = map(float, printed)
    digits = len(printed[2].partition(".")[2])
    gap = abs(float(kept) * first + float(part) * factor * second - new)
    assert gap <= 0.5 * 10.0**-digits * (1 + 1e-6) + 1e-9
    assert abs(float(kept) + float(part) - 1) < 1e-11


def test_the_example_that_was_wrong():
    kept, part, old, value, new = write_update(0.1, 1.0, -0.24125, 0.16816)
    assert round(float(kept) * float(old) + float(part) * float(value), 3) == float(new)


@given(NUMBERS, NUMBERS, st.floats(0, 100), st.sampled_from([0.0, 1e-5, 0.1, 0.123456]))
def test_the_printed_numbers_give_the_printed_output(x, mean, variance, eps):
    if variance + eps < 1e-9 or abs(x - mean) < 1e-6:
        return
    xhat = (x - mean) / (variance + eps) ** 0.5
    digits = count_digits(x, mean, variance, eps, xhat)
    shown = [float(f"{each:.{digits}g}") for each in (x, mean, variance, eps)]
    assert f"{(shown[0] - shown[1]) / (shown[2] + shown[3]) ** 0.5:.3g}" == f"{xhat:.3g}"


def test_more_digits_are_printed_where_x_is_near_the_mean():
    assert count_digits(2.0, 1.0, 4.0, 0.0, 0.5) == 3
    assert count_digits(0.16816, 0.16789, 0.25, 0.0, 0.00054) > 3


@pytest.mark.parametrize("step", range(1, 40, 6))
def test_the_formula_on_the_page_holds_in_its_digits(step):
    at = open_lab("pages/running.py", step=str(step), digit="1", mode="inference")
    printed = at.latex[0].value.rpartition("\\frac")[2]
    printed = re.sub(r"(?:([\d.]+)\\cdot)?10\^\{(-?\d+)\}", lambda power: f"{power[1] or 1}e{power[2]}", printed)
    printed = re.sub(r"\\textcolor\{[^}]*\}\{([^{}]*)\}", r"\1", printed)
    found = re.match(r"\{(\S+?)-\(?(-?[\d.e-]+?)\)?\}\{\\sqrt\{([\d.e-]+)\+([\d.e-]+)\}\} = (\S+?)\\end", printed)
    x, mean, variance, eps, xhat = map(float, found.groups())
    assert f"{(x - mean) / (variance + eps) ** 0.5:.3g}" == f"{xhat:.3g}"
