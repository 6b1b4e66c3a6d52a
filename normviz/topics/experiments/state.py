"""The state of the page on experiments: what its link holds, and the setting that it asks for."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import streamlit as st

from normviz.core.fields import Shape
from normviz.core.registry import SCHEMES
from normviz.core.settings import build_settings, choice
from normviz.topics.experiments.catalogue import ALIASES, EXPERIMENTS
from normviz.topics.experiments.experiment import Experiment, own_text
from normviz.ui import custom
from normviz.ui.custom import SIZE_NAMES
from normviz.ui.link import Param, View, clean_values, create_params, extract_values

PAGE = "experiments"
PREFIX = f"{PAGE} "
"""Of all keys in the session: other pages have values of the same names."""


@dataclass(frozen=True)
class Page:
    """What the page's link holds beside the setting of every experiment."""

    show: str = choice(next(iter(EXPERIMENTS)), {key: each.title for key, each in EXPERIMENTS.items()})


def under(key: str) -> str:
    """What the names of an experiment's values begin with."""
    return key.replace("-", "_") + "_"


def follow_aliases() -> None:
    """Rewrite the page's link if it names an experiment that has become part of another one."""
    link = st.query_params.to_dict()
    renamed = rename_link(link)
    if renamed != link:
        st.query_params.from_dict(renamed)


def rename_link(link: Mapping[str, str]) -> dict[str, str]:
    """Return a link with the names of today for experiments in `ALIASES` and for their settings.

    Example:
        >>> rename_link({"show": "sparsity", "sparsity_first": "0.3"})
        {'show': 'smoothing', 'smoothing_eps': '0.3'}
    """
    names = {
        under(old) + name: under(alias.key) + new
        for old, alias in ALIASES.items()
        for name, new in alias.settings.items()
    }
    keys = {old: alias.key for old, alias in ALIASES.items()}
    return {
        names.get(name, name): keys.get(value, value) if name == "show" else value for name, value in link.items()
    }  # fmt: skip


def shown(view: View) -> Experiment:
    """The experiment that the page shows."""
    return EXPERIMENTS[view["show"]]


def values(view: View) -> View:
    """The values of the experiment that is shown, by their own names."""
    experiment = shown(view)
    return extract_values(experiment.setting, under(experiment.key), view)


def lengths(view: View) -> dict[str, int]:
    """Return the length of every axis of the first normalized layer."""
    given = {name: each for name, each in values(view).items() if name != "own"}
    given |= {"schemes": ("batch",)} if "schemes" in given else {}  # which fits, and the shape depends on none
    shape = _shape(view["show"], tuple(given.items())) if "own" in values(view) else (1, 1, 1, 1)
    return dict(zip(SIZE_NAMES, shape, strict=True))


@lru_cache(maxsize=64)
def _shape(key: str, given: tuple[tuple[str, Any], ...]) -> Shape:
    """Return the shape of an experiment's first normalized layer. Cached: each rule of one's own scheme asks."""
    return build_settings(EXPERIMENTS[key].setting, dict(given)).shape


def chosen(given: View) -> Sequence[str]:
    """The schemes of an experiment's values: several that are compared, one, or none."""
    return given.get("schemes") or [given[name] for name in ("scheme",) if name in given]


PARAMS = (
    *create_params(Page, PREFIX),
    *(param for key, each in EXPERIMENTS.items() for param in create_params(each.setting, PREFIX, under(key))),
    *custom.create_custom_params(lengths, PREFIX),
)


def is_relevant(view: View, name: str) -> bool:
    """Whether a value means anything to what is shown: a link and the controls leave out what does not."""
    if name == "show":
        return True
    if name in custom.CUSTOM_KEYS:
        return "custom" in chosen(values(view)) and (name != "front" or shown(view).setting.weighted)
    own = under(view["show"])
    return name.startswith(own) and matters(values(view), name.removeprefix(own))


def matters(given: View, name: str) -> bool:
    """The same of an experiment's value, by its own name."""
    kinds = {kind for key in chosen(given) for kind in SCHEMES[key].parameters if key != "custom"}
    known = {"groups": "groups" in kinds, "radius": "window" in kinds, "own": False}  # which is written rule by rule
    return known.get(name, True)


def own_params(view: View) -> list[Param]:
    """Return the values of the experiment that is shown, of all in the link."""
    return [param for param in PARAMS if param.name.startswith(under(view["show"]))]


def describe_changes(view: View) -> str:
    """Return the settings, besides the schemes, that differ from their defaults, as in "Steps 20, First seed 1"."""
    params = own_params(view)
    defaults, _ = clean_values(params, {})
    found = []
    for param in params:
        name, value, declared = param.name, view[param.name], param.declared
        if declared.label and declared.name != "schemes" and value != defaults[name] and is_relevant(view, name):
            found.append(f"{declared.title(values(view))} {declared.words(value)}")
    return ", ".join(found)


def setting_of(view: View) -> Any:
    """The setting of what is shown; raises InvalidInput."""
    given = values(view)
    setting, own = shown(view).setting, custom.build_custom_scheme(view)
    own = own if setting.weighted else own.with_weight_scheme(None)
    return build_settings(setting, given | ({"own": own_text(own)} if "custom" in chosen(given) else {}))
