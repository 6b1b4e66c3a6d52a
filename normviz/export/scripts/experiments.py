"""The script of the page "Experiments": the open experiment, its verdict and its numbers."""

from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, fill_script
from normviz.topics.experiments import state
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the open experiment. Raises InvalidInput for an invalid setting."""
    experiment, setting = state.get_shown_experiment(view), state.build_shown_setting(view)
    values = {name: getattr(experiment, name) for name in ("title", "question", "key")}
    values |= {"about": experiment.about(setting), "setting": format_settings_code(setting, "experiment.setting")}
    return fill_script("experiments", ["experiment"], values, "train")
