"""The script of the page "Your model": a report on the normalizations of a PyTorch model."""

from normviz.export.script import Expression, PageScript, fill_script
from normviz.topics.model.state import OWN_MODEL
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the shown model; for an uploaded model a template to complete."""
    made = "own" if view["source"] == OWN_MODEL else "example"
    return fill_script("model", ["model", made, "report"], {"source": Expression(view["source"])}, "train")
