"""The script of the page "Why normalize": the numbers of the open panel."""

from collections.abc import Callable

from normviz.core.settings import build_settings
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, fill_script, format_call
from normviz.topics.why import saturation
from normviz.topics.why.identity import SHAPE
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    return PANEL_SCRIPTS[view["show"]](view)


def _build_learning(view: View) -> PageScript:
    setting = saturation.Setting(start=view["start"], rate=view["rate"], seed=view["seed"])
    values = {"networks": saturation.SEEDS, "setting": format_settings_code(setting)}
    return fill_script("why", ["learning", "learned", "accuracy"], values, "train")


def _build_saturation(view: View) -> PageScript:
    setting = format_settings_code(build_settings(saturation.Setting, view))
    return fill_script("why", ["saturation", "learned", "quantiles"], view | {"setting": setting}, "train")


def _build_whitening(view: View) -> PageScript:
    if view["points"] == "digits":
        made = format_call("whitening.compute_digit_features", view["first"], view["second"])
    else:
        made = format_call("whitening.sample_normal_cloud", view["correlation"], view["ratio"], view["seed"])
    return fill_script("why", ["whitening"], view | {"made": made}, "train")


def _build_identity(view: View) -> PageScript:
    x = format_call("sample_digit_features", SHAPE, seed=view["seed"])
    return fill_script("why", ["identity"], view | {"x": x}, "train")


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "learning": _build_learning,
    "saturation": _build_saturation,
    "whitening": _build_whitening,
    "outside": lambda view: fill_script("why", ["outside"], view),
    "identity": _build_identity,
    "history": lambda view: fill_script("why", ["history"], view),
}
