"""The update of a running average as the page prints it: the sum holds in the printed digits."""

from hypothesis import given
from hypothesis import strategies as st

from normviz.topics.running.averages import format_update

NUMBERS = st.floats(-1e3, 1e3).filter(lambda each: each == 0 or abs(each) > 1e-6)


@given(st.floats(0, 1).map(lambda each: round(each, 6)), st.sampled_from([1.0, 2.0, 32 / 31]), NUMBERS, NUMBERS)
def test_the_printed_sum_holds(share, factor, old, value):
    kept, part, *printed = format_update(share, factor, old, value)
    first, second, new = map(float, printed)
    digits = len(printed[2].partition(".")[2])
    gap = abs(float(kept) * first + float(part) * factor * second - new)
    assert gap <= 0.5 * 10.0**-digits * (1 + 1e-6) + 1e-9
    assert abs(float(kept) + float(part) - 1) < 1e-11


def test_the_example_that_was_wrong():
    kept, part, old, value, new = format_update(0.1, 1.0, -0.24125, 0.16816)
    assert round(float(kept) * float(old) + float(part) * float(value), 3) == float(new)
