"""Data as one message: what is read of it is what was sent."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from unpacked import unpacked

from normviz.charts.chart import TEMPLATE, Figure
from normviz.charts.packing import ALIGNMENT, pack_message

PACKED = {
    "i1": [np.arange(5), np.arange(5) - 9, np.array([True, False]).astype(np.int8)],
    "u1": [np.array([0, 200]), np.array([1, 255], np.uint8), b"bytes"],
    "i2": [np.array([-200, 3])],
    "i4": [np.array([-1, 70_000]), np.array([0, 70_000])],
    "u4": [np.array([0, 2**31])],
    "f4": [np.arange(6, dtype=np.float32).reshape(2, 3).T],
    "f8": [np.array([0.5, np.nan, np.inf])],
}
"""Arrays by the type in which they are sent."""

scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False) | st.text()
arrays = st.builds(np.arange, st.integers(1, 30)).map(lambda a: a * 0.5)
datas = st.recursive(
    scalars | arrays | st.binary(min_size=1),
    lambda inside: st.lists(inside) | st.dictionaries(st.text().filter(lambda name: name != "packed"), inside),
)


def equal(found, sent):
    """Whether what was read is what was sent: NaN and Inf of lists are None."""
    if isinstance(sent, dict):
        return found.keys() == sent.keys() and all(equal(found[key], sent[key]) for key in sent)
    if isinstance(sent, list):
        return len(found) == len(sent) and all(map(equal, found, sent))
    if isinstance(sent, bytes):
        return found.tobytes() == sent
    if isinstance(sent, np.ndarray):
        return np.array_equal(found, sent)
    return found == (None if isinstance(sent, float) and np.isinf(sent) else sent)


@given(data=datas)
def test_what_is_read_is_what_was_sent(data):
    message = pack_message(data)
    assert len(message) % ALIGNMENT == 0  # so that an array in a message within another one stands where it has to
    assert equal(unpacked(message), data)


@pytest.mark.parametrize(("kind", "array"), [(kind, array) for kind, arrays in PACKED.items() for array in arrays])
def test_an_array_is_sent_as_bytes(kind, array):
    before, sent, behind = unpacked(pack_message([np.array([0.1]), array, np.array([0.2])]))
    assert sent.dtype == f"<{kind}"
    np.testing.assert_array_equal(sent, np.frombuffer(array, np.uint8) if isinstance(array, bytes) else array)
    assert (before, behind) == (0.1, 0.2)


def test_equal_arrays_are_sent_once_whatever_their_names():
    x, other = np.arange(1000.0), np.arange(1000.0) + 1
    once, twice = pack_message({"x": x, "y": other}), pack_message({"x": x, "y": other, "z": x.copy()})
    assert len(twice) - len(once) < 100
    np.testing.assert_array_equal(unpacked(twice)["z"], x)
    np.testing.assert_array_equal(unpacked(twice)["y"], other)


@pytest.mark.parametrize("array", [np.array([3, 2**40]), np.zeros(0), np.array([0.5, 1], np.float16), np.array(["a"])])
def test_what_javascript_has_no_arrays_of_is_a_list(array):
    assert unpacked(pack_message({"z": array})) == {"z": array.tolist()}


def test_lists_have_null_where_there_is_no_number():
    sent = {"x": [np.float64("nan"), float("inf"), np.float32(0.5), np.int64(3)], "y": ("a", None)}
    sent["short"], sent["z"] = np.array([np.nan], np.float16), np.array([np.nan, 1.0])
    found = unpacked(pack_message(sent))
    np.testing.assert_array_equal(found.pop("z"), [np.nan, 1])
    assert found == {"x": [None, None, 0.5, 3], "y": ["a", None], "short": [None]}


@pytest.mark.parametrize("wrong", [{1, 2}, object(), np.zeros((1, 1, 1)), np.float64])
def test_what_cannot_be_sent_is_named(wrong):
    with pytest.raises(TypeError, match="can't be sent"):
        pack_message({"x": wrong})


def test_a_figure_is_sent_with_what_holds_for_all():
    figure = Figure()
    figure.add_scatter(x=np.array([1.5, 2.5]), name="é")
    figure.update_layout(margin={"l": 1})
    found = unpacked(figure.to_message())
    np.testing.assert_array_equal(found["data"][0].pop("x"), [1.5, 2.5])
    assert found == {"data": [{"type": "scatter", "name": "é"}], "layout": {"margin": {"l": 1}, "template": TEMPLATE}}
