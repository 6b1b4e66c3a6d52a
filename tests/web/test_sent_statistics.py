"""Statistics of the stages, copied to their elements and written by JavaScript, against NumPy."""

import numpy as np
import pytest
from node import evaluate
from strategies import uneven_array

from normviz.charts.cube import build_stages_data
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.reductions import broadcast_statistic
from normviz.core.registry import SCHEMES
from normviz.core.text import typeset
from normviz.topics.lab.stages import build_stages


@pytest.mark.parametrize("shape", [(4, 3, 4, 6), (4, 1, 1, 6)])
@pytest.mark.parametrize("key", SCHEMES)
def test_every_element_has_its_value_of_every_stage(key, shape):
    scheme, x = SCHEMES[key], uneven_array(shape, 0)
    stages = list(build_stages(scheme, x, normalize(x, scheme, 1e-5), LayerScalars(1e-5, 1.0, 0.0, 0.25)))
    sent = build_stages_data(stages, shape)["list"]
    everywhere = [
        np.broadcast_to(broadcast_statistic(stage.values, shape), shape).astype(np.float32) for stage in stages
    ]
    function = """({broadcastStatistic, readNumber, unravel, writeNote}, all, shape) => all.map((stage) => {
      const values = broadcastStatistic(stage, shape);
      const indices = Array.from(values, (_, flat) => unravel(flat, shape));
      const single = indices.map((index) => readNumber(stage, index, shape));
      return [Array.from(values), single, writeNote(stage, shape, indices.at(-2))];
    })"""
    found = evaluate("statistics indices readout", function, sent, list(shape))
    for stage, expected, (values, single, note) in zip(stages, everywhere, found, strict=True):
        np.testing.assert_array_equal(values, expected.ravel())
        np.testing.assert_array_equal(single, expected.ravel())
        assert note == f"{stage.symbol} = {typeset(expected.ravel()[-2], 4)}"
