"""Numbers as pictures of 8 bits."""

import numpy as np
import pytest

from normviz.charts.palette import NOT_FINITE_COLOUR
from normviz.web.components.picture import convert_to_pixels

PURPLE = [int(NOT_FINITE_COLOUR[k : k + 2], 16) for k in (1, 3, 5)]


def test_a_scale_and_what_is_beyond():
    drawn = convert_to_pixels(np.array([[-9.0, -1.0, 0.0], [0.5, 1.0, 9.0]]), -1.0, 1.0)
    assert (drawn.dtype, drawn.tolist()) == (np.uint8, [[0, 0, 128], [191, 255, 255]])


@pytest.mark.parametrize("colours", [(), (3,)])
def test_what_is_no_finite_number_has_its_own_colour(colours):
    values = np.zeros((2, 2, *colours))
    values[0, 1], values[1, 0] = np.nan, -np.inf
    drawn = convert_to_pixels(values, 0.0, 1.0)
    assert drawn.tolist() == [[[0, 0, 0], PURPLE], [PURPLE, [0, 0, 0]]]


def test_a_scale_of_one_number():
    assert convert_to_pixels(np.array([[-1.0, 2.0, 2.5]]), 2.0, 2.0).tolist() == [[0, 0, 255]]


@pytest.mark.parametrize(("low", "high"), [(0.0, 0.0), (-1e308, 1e308), (5e-324, 1e-323)])
def test_any_ends(low, high):
    drawn = convert_to_pixels(np.array([[low, high]]), low, high)
    assert drawn.tolist() == [[0, 255 if high > low else 0]]
