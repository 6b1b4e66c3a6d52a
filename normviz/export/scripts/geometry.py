"""The script of the page "Step size": layer norm of three numbers, or effective learning rate."""

from normviz.core.settings import build_settings
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, fill_script
from normviz.topics.geometry.rate import RateSetting
from normviz.topics.geometry.three_channels import INCOMING_GRADIENT, LEARNING_RATE, ThreeChannelExample
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    if view["show"] == "vectors":
        example = build_settings(ThreeChannelExample, view)
        values = {"x": example.x.tolist(), "eps": example.eps, "dxhat": list(INCOMING_GRADIENT), "rate": LEARNING_RATE}
        return fill_script("geometry", ["vectors"], values)
    setting = format_settings_code(build_settings(RateSetting, view), "RateSetting")
    return fill_script("geometry", ["rate"], {"setting": setting}, "train")
