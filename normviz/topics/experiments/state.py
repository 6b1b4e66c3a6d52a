"""The state of the page on experiments: the values of its link, and the setting that they describe."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from normviz.core.fields import Shape
from normviz.core.settings import build_settings, choice
from normviz.topics.experiments.catalogue import ALIASES, EXPERIMENTS
from normviz.topics.experiments.experiment import Experiment, format_custom_scheme
from normviz.ui import custom
from normviz.ui.custom import SIZE_NAMES
from normviz.ui.link import Param, View, clean_values, create_params, extract_values
from normviz.ui.scheme import is_relevant_to_any

PAGE = "experiments"
PREFIX = PAGE + " "


@dataclass(frozen=True)
class Page:
    """The values of the page's link besides the settings of experiments."""

    show: str = choice(next(iter(EXPERIMENTS)), {key: each.title for key, each in EXPERIMENTS.items()})


def make_name_prefix(key: str) -> str:
    """Return the prefix of the names of an experiment's settings in the link: "batch-size" gives "batch_size_"."""
    return key.replace("-", "_") + "_"


def translate_former_link(link: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the page's key, and the link's values with former names of experiments and settings translated to current.

    Example:
        >>> translate_former_link({"show": "sparsity", "sparsity_first": "0.3"})
        ('experiments', {'show': 'smoothing', 'smoothing_eps': '0.3'})
    """
    names = {
        make_name_prefix(old) + name: make_name_prefix(alias.key) + new
        for old, alias in ALIASES.items()
        for name, new in alias.settings.items()
    }
    keys = {old: alias.key for old, alias in ALIASES.items()}
    return PAGE, {
        names.get(name, name): keys.get(value, value) if name == "show" else value for name, value in link.items()
    }


def get_shown_experiment(view: View) -> Experiment:
    """Return the experiment that the page shows."""
    return EXPERIMENTS[view["show"]]


def get_shown_values(view: View) -> View:
    """Return the view's values that are settings of the shown experiment, by their names without prefix."""
    experiment = get_shown_experiment(view)
    return extract_values(experiment.setting, make_name_prefix(experiment.key), view)


def compute_axis_lengths(view: View) -> dict[str, int]:
    """Return the lengths of N, H, W and C of the shown experiment's first normalized layer by axis name."""
    given = {name: each for name, each in get_shown_values(view).items() if name != "own"}
    given |= {"schemes": ("batch",)} if "schemes" in given else {}  # which fits, and the shape depends on none
    shape = _get_layer_shape(view["show"], tuple(given.items())) if "own" in get_shown_values(view) else (1, 1, 1, 1)
    return dict(zip(SIZE_NAMES, shape, strict=True))


@lru_cache(maxsize=64)
def _get_layer_shape(key: str, setting_values: tuple[tuple[str, Any], ...]) -> Shape:
    """Return the shape of an experiment's first normalized layer, cached, as each rule of a custom scheme needs it."""
    return build_settings(EXPERIMENTS[key].setting, dict(setting_values)).shape


def get_chosen_schemes(setting_values: View) -> Sequence[str]:
    """Return the keys of the schemes that an experiment's values choose, from "schemes" or "scheme"; may be empty."""
    return setting_values.get("schemes") or [setting_values[name] for name in ("scheme",) if name in setting_values]


PARAMS = (
    *create_params(Page, PREFIX),
    *(
        param
        for key, each in EXPERIMENTS.items()
        for param in create_params(each.setting, PREFIX, make_name_prefix(key))
    ),
    *custom.create_custom_params(compute_axis_lengths, PREFIX),
)


def is_relevant(view: View, name: str) -> bool:
    """Return True if the link's value `name` affects the shown experiment, so that link and controls have it."""
    if name == "show":
        return True
    if name in custom.CUSTOM_KEYS:
        return custom.is_custom_chosen(get_chosen_schemes(get_shown_values(view))) and (
            name != "front" or get_shown_experiment(view).setting.weighted
        )
    own = make_name_prefix(view["show"])
    return name.startswith(own) and is_value_relevant(get_shown_values(view), name.removeprefix(own))


def is_value_relevant(setting_values: View, name: str) -> bool:
    """Return True if an experiment's setting `name` affects the chosen schemes, as "groups" does group norm."""
    # own is written rule by rule
    return name != "own" and is_relevant_to_any(get_chosen_schemes(setting_values), name)


def list_shown_params(view: View) -> list[Param]:
    """Return the parameters of the link that are settings of the shown experiment."""
    return [param for param in PARAMS if param.name.startswith(make_name_prefix(view["show"]))]


def describe_changes(view: View) -> str:
    """Format the settings, except the schemes, that differ from their defaults: "Steps 20, First seed 1"."""
    params = list_shown_params(view)
    defaults, _ = clean_values(params, {})
    found = []
    for param in params:
        name, value, declared = param.name, view[param.name], param.declared
        if declared.label and declared.name != "schemes" and value != defaults[name] and is_relevant(view, name):
            found.append(f"{declared.resolve_label(get_shown_values(view))} {declared.format_for_page(value)}")
    return ", ".join(found)


def build_shown_setting(view: View) -> Any:
    """Build the shown experiment's `Setting` from the view's values; raise InvalidInput for invalid ones."""
    given = get_shown_values(view)
    setting, own = get_shown_experiment(view).setting, custom.build_custom_scheme(view)
    own = own if setting.weighted else own.with_weight_scheme(None)
    if custom.is_custom_chosen(get_chosen_schemes(given)):
        given |= {"own": format_custom_scheme(own)}
    return build_settings(setting, given)
