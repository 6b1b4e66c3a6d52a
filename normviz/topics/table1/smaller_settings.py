"""What would take less: settings near the one that is asked for, whose training is done soon."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from normviz.core.settings import Integer, get_declarations
from normviz.train.setting import Setting

SettingChange = dict[str, Any]
"""Values of a setting, by their names."""

COST_SETTINGS = ("steps", "width", "batch", "depth")
"""What makes a training long."""


def suggest_smaller_settings(setting: Setting, fits: Callable[[Setting], bool]) -> list[SettingChange]:
    """One smaller value that is enough, for each that has one; where none has, several together.

    `fits`: whether a setting is small enough. The values are stops of the controls, the largest that fit.
    """
    alone: list[SettingChange] = []
    for name in COST_SETTINGS:
        changes: Iterator[SettingChange] = ({name: value} for value in _below(setting, name))
        alone += list(islice((change for change in changes if fits(replace(setting, **change))), 1))
    together = _together(setting, fits)
    return alone or [together] * fits(replace(setting, **together))


def _together(setting: Setting, fits: Callable[[Setting], bool]) -> SettingChange:
    """Stop by stop the value that is the most above its default, until it fits or all are there."""
    usual = Setting(layer=setting.layer)
    least = {name: getattr(usual, name) for name in COST_SETTINGS}
    change: SettingChange = {}
    while not fits(now := replace(setting, **change)):
        above = {name: getattr(now, name) / least[name] for name in COST_SETTINGS}
        name = max(COST_SETTINGS, key=above.__getitem__)
        if above[name] <= 1:
            break
        change[name] = next(iter(_below(now, name)), least[name])
    return {name: change[name] for name in COST_SETTINGS if name in change}


def _below(setting: Setting, name: str) -> list[int]:
    """The smaller values that its control offers, the largest first."""
    declared, now = get_declarations(Setting)[name], getattr(setting, name)
    assert isinstance(declared, Integer)
    return sorted((int(value) for value in declared.stops or range(1, now) if value < now), reverse=True)
