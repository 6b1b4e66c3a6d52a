"""Gaps in the cells of Table 1, written by JavaScript, against Python."""

import numpy as np
from node import evaluate

from normviz.describe.wording import gap_text

GAPS = (0.0, 8.9e-17, 1e-15, 2.2e-7, 9.6e-5, 0.00012, 0.004, 0.0099, 0.01, 0.389, 1.27, 12.3, 99.7, 523.4, 5e5)


def test_a_gap_is_written_as_python_writes_it():
    gaps = np.array([*GAPS, np.inf, np.nan, *np.geomspace(1e-17, 1e6, 200)])
    written = evaluate("curves", "({writeGap}, gaps) => Array.from(gaps, (gap) => writeGap(gap))", gaps)
    assert written == [*map(gap_text, gaps.tolist())]
