"""How options and numbers are written."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from normviz.core.text import format_exact, format_number, join_words, typeset


@pytest.mark.parametrize(("options", "text"), [([1, 2, 3], "1, 2 or 3"), (("a", "b"), "a or b"), ({7: 0}, "7")])
def test_options_as_they_are_spoken(options, text):
    assert join_words(options) == text


@given(number=st.floats(allow_nan=False, allow_infinity=False))
@example(0.1)
@example(1e-5)
def test_a_decimal_reads_back_as_the_same_number(number):
    assert float(format_exact(number)) == number


@pytest.mark.parametrize(("number", "text"), [(2.0, "2"), (0.1, "0.1"), (1e-5, "1e-05"), (-10.0, "-10"), (0.0, "0")])
def test_a_decimal_is_short(number, text):
    assert format_exact(number) == text


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (3.0, "3"), (-0.5, "−0.5"), (0, "0"), (1e-5, "10⁻⁵"), (-1e-5, "−10⁻⁵"), (10.0**-15, "10⁻¹⁵"), (2e6, "2·10⁶"),
        (1234567.0, "1.23457·10⁶"), (1e3, "1000"), (0.003, "0.003"), (-2.5e-7, "−2.5·10⁻⁷"),
    ],
)  # fmt: skip
def test_a_number_as_a_page_writes_it(number, text):
    assert typeset(number) == text


@pytest.mark.parametrize(
    ("number", "text"), [(float("inf"), "∞"), (float("-inf"), "−∞"), (float("nan"), "NaN"), (-0.0, "0")]
)
def test_what_no_digits_write(number, text):
    assert typeset(number) == text


@pytest.mark.parametrize(
    ("number", "least", "text"),
    [
        (-1.94812, 0.0, "−1.948"), (2.14e-7, 0.0, "2.14·10⁻⁷"), (-1.94e-16, 1e-12, "0 to rounding"), (0.0, 1e-12, "0"),
        (-1.94e-16, 0.0, "−1.94·10⁻¹⁶"), (float("nan"), 1.0, "NaN"),
    ],
)  # fmt: skip
def test_what_was_measured_as_a_page_writes_it(number, least, text):
    assert format_number(number, zero_threshold=least) == text
