"""The script of the page "Training vs. inference": running averages, mistakes with them, and other examples."""

from collections.abc import Callable

from normviz.core.errors import InvalidInput
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, fill_script
from normviz.topics.running import state
from normviz.topics.running.averages import CONVENTIONS
from normviz.topics.running.modes import MODES
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the open panel. Raises InvalidInput if the framework refuses the batch."""
    return PANEL_SCRIPTS[view["panel"]](view)


def _build_switch(view: View) -> PageScript:
    setting, convention = state.build_stream_setting(view), CONVENTIONS[view["framework"]]
    if setting.element_count == 1 and convention.unbiased:
        raise InvalidInput(f"{convention.name} refuses to train on one value per unit; a batch of 2 would do.")
    values = {"setting": format_settings_code(setting), "unit": view["unit"] - 1, "modes": tuple(MODES)}
    values |= {"name": convention.name, "momentum": convention.convert_momentum(view["share"])}
    return fill_script("running", ["switch"], view | values, "train")


def _build_wrong(view: View) -> PageScript:
    convention = CONVENTIONS[view["framework"]]
    if view["batch"] == 1 and convention.unbiased:
        raise InvalidInput(f"{convention.name} refuses to train this network on one digit at a time.")
    return fill_script("running", ["wrong"], view, "train")


def _build_companions(view: View) -> PageScript:
    setting = format_settings_code(state.build_stream_setting(view).without_drift)
    return fill_script("running", ["companions"], view | {"setting": setting, "unit": view["unit"] - 1}, "train")


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "switch": _build_switch,
    "wrong": _build_wrong,
    "companions": _build_companions,
}
