"""Suggestions of smaller settings near a given one, whose training is fast."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from normviz.core.settings import Integer, get_declarations
from normviz.train.setting import Setting

SettingChange = dict[str, Any]
"""New values of a setting, by name."""

COST_SETTINGS = ("steps", "width", "batch", "depth")
"""Settings that make a training long."""


def suggest_smaller_settings(setting: Setting, fits: Callable[[Setting], bool]) -> list[SettingChange]:
    """Return changes with which `fits` accepts a setting: of one value each, or of several if no single one is enough.

    `fits`: (setting) -> True if it is small enough. The values are the largest stops of the controls that fit.
    """
    alone: list[SettingChange] = []
    for name in COST_SETTINGS:
        changes: Iterator[SettingChange] = ({name: value} for value in _list_smaller_values(setting, name))
        alone += list(islice((change for change in changes if fits(replace(setting, **change))), 1))
    together = _lower_values_together(setting, fits)
    return alone or [together] * fits(replace(setting, **together))


def _lower_values_together(setting: Setting, fits: Callable[[Setting], bool]) -> SettingChange:
    """Lower the values of a setting until `fits` accepts it; return the changed values by name.

    Each step lowers the value farthest above its default; no value is lowered below its default.
    """
    usual = Setting(layer=setting.layer)
    least = {name: getattr(usual, name) for name in COST_SETTINGS}
    change: SettingChange = {}
    while not fits(now := replace(setting, **change)):
        above = {name: getattr(now, name) / least[name] for name in COST_SETTINGS}
        name = max(COST_SETTINGS, key=above.__getitem__)
        if above[name] <= 1:
            break
        change[name] = next(iter(_list_smaller_values(now, name)), least[name])
    return {name: change[name] for name in COST_SETTINGS if name in change}


def _list_smaller_values(setting: Setting, name: str) -> list[int]:
    declared, now = get_declarations(Setting)[name], getattr(setting, name)
    assert isinstance(declared, Integer)
    return sorted((int(value) for value in declared.stops or range(1, now) if value < now), reverse=True)
