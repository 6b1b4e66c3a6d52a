"""The script of the page "Weight normalization": weight norm under SGD, or spectral norm of a layer."""

from normviz.core.settings import build_settings
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, fill_script
from normviz.topics.weights.descent import STEPS, Setting
from normviz.topics.weights.state import ITERATION_COUNT, RUN_NAMES
from normviz.topics.weights.weights import PAIR_COUNT
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    if view["show"] == "spectral":
        counts = {"iterations": ITERATION_COUNT, "pairs": PAIR_COUNT}
        return fill_script("weights", ["spectral"], view | counts, "train")
    steps = tuple(dict.fromkeys((view["step"], STEPS)))
    setting = format_settings_code(build_settings(Setting, view))
    values = {"setting": setting, "keys": tuple(RUN_NAMES), "steps": steps}
    return fill_script("weights", ["norm"], values, "train")
