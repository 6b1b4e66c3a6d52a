"""What would take less: one value where one is enough, several together where not, and as much as fits."""

from dataclasses import replace

import pytest

from normviz.topics.table1.smaller_settings import suggest_smaller_settings
from normviz.train import cost
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting

ALL = Setting(layer="conv", width=128, depth=4, batch=256, steps=1000)


def within(limit, schemes=14):
    return lambda setting: cost.estimate_training_seconds(setting, schemes, len(NETWORKS)) <= limit


def test_one_smaller_value_where_that_is_enough():
    setting = replace(ALL, steps=200, width=32, batch=32, depth=1)
    found = suggest_smaller_settings(setting, within(10, schemes=3))
    assert [list(change) for change in found] == [["steps"], ["width"], ["batch"]]
    for change in found:
        assert within(10, schemes=3)(replace(setting, **change))


def test_what_is_offered_is_the_most_that_fits():
    found = suggest_smaller_settings(ALL, lambda setting: setting.steps <= 150 or setting.batch <= 100)
    assert found == [{"steps": 100}, {"batch": 64}]


def test_several_values_together_where_none_is_enough_alone():
    (change,) = suggest_smaller_settings(ALL, within(60))
    assert len(change) > 1
    assert within(60)(replace(ALL, **change))
    usual = Setting(layer="conv")
    assert all(value >= getattr(usual, name) for name, value in change.items())


def test_nothing_is_offered_where_nothing_fits():
    assert suggest_smaller_settings(ALL, lambda setting: False) == []


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_the_usual_table_of_all_schemes_is_always_an_offer(layer):
    assert within(60)(Setting(layer=layer))
