"""The bridge to Node: what travels there and back."""

import numpy as np
import pytest
from node import evaluate


def test_numbers_travel_as_the_app_sends_them():
    array, rows = np.array([1.5, np.nan, np.inf, -np.inf]), np.arange(6, dtype=np.int16).reshape(2, 3)
    types, there = evaluate(
        "data", "(_, ...all) => [all.slice(0, 2).map((each) => each.constructor.name), all]", array, rows, {"é": None}
    )
    assert types == ["Float64Array", "Array"]
    np.testing.assert_array_equal(there[0], array)
    assert there[1:] == [rows.tolist(), {"é": None}]


def test_an_error_of_javascript_is_told():
    with pytest.raises(AssertionError, match="RangeError: no such cell"):
        evaluate("cells", "() => { throw new RangeError('no such cell'); }")
    assert evaluate("cells", "() => {}") is None  # it goes on
