"""What data.js reads of a message, and how it writes numbers, against Python."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from node import evaluate

from normviz.charts.packing import TYPE_CODES
from normviz.core.text import typeset


@pytest.mark.parametrize("name", TYPE_CODES)
def test_an_array_of_each_type_is_read_as_it_was_sent(name):
    array = np.array([0, 1, 100]).astype(name)
    array[-1] = (np.iinfo if array.dtype.kind in "iu" else np.finfo)(name).max
    rows = np.stack([array, array[::-1]])
    function = "(_, ...all) => [all, all[1].constructor.name, all[2].map((row) => row.constructor.name)]"
    found, there, of_rows = evaluate("data", function, "é", array, rows, b"\0\1")
    get_type_name = f"{name.title()}Array"
    assert (there, of_rows) == (get_type_name, [get_type_name] * 2)
    assert found == ["é", array.tolist(), rows.tolist(), [0, 1]]


@pytest.mark.parametrize("digits", [4, 6])
@given(numbers=st.lists(st.floats(width=32), min_size=1))
def test_numbers_are_written_as_python_does(digits, numbers):
    written = evaluate(
        "data",
        "({formatNumber}, all, digits) => Array.from(all, (v) => formatNumber(v, digits))",
        np.array(numbers),
        digits,
    )
    assert written == [typeset(number, digits) for number in numbers]
