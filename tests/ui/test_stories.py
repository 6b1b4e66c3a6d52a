"""What every page says of itself, held against all that it may be set to."""

import pytest

from normviz.core.registry import SCHEMES
from normviz.core.theory import predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.demands import parse_weight_keys
from normviz.topics.design.search import take_census
from normviz.train.setting import Setting
from normviz.ui.page_texts import PAGE_TEXTS

BY_PAGE = {story.page: story for story in PAGE_TEXTS}


@pytest.mark.parametrize("key", ["batch", "mean-only-batch", "dynamic-tanh"])
def test_only_a_scheme_that_divides_absorbs_a_factor(key):
    """The field of mean-only batch norm is that of batch norm, but nothing divides out a factor."""
    setting, scheme, change = Setting(), SCHEMES[key], TRANSFORMATIONS["dataset-rescaling"]
    found = predict(scheme, change, setting.layer, setting.shapes[0], setting.weight_shapes[0], 0.0)
    assert found.invariant == (scheme.suppression is not None)
    assert "Dividing by a statistic cancels a factor" in BY_PAGE["invariance"].takeaway


def test_the_sets_of_invariances_are_those_without_a_scheme_of_the_weights():
    assert len(take_census("conv", ("none",))) == 13 < len(take_census("conv", parse_weight_keys("any")))
    takeaway = BY_PAGE["design"].takeaway
    assert "Without a weight scheme in front" in takeaway
    assert "the thousands of schemes on a convolutional layer have only 13 different sets" in takeaway
