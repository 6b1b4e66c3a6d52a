"""The script of the page "Your model": a report on the normalizations of a PyTorch model."""

from normviz.export.script import PageScript, make_code, make_text
from normviz.topics.model.state import OWN_MODEL
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the shown model; for an uploaded model a template to complete."""
    if view["source"] == OWN_MODEL:
        made = """
            import torch
            import normviz

            model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8))  # your model
            batch = torch.randn(32, 4)  # and a batch that it takes
            """
    else:
        made = f"""
            import normviz
            from normviz.inspection.example_models import make_{view["source"]}

            model, batch = make_{view["source"]}()
            """
    cells = [
        make_text("A model, and a batch of its inputs."),
        make_code(made),
        make_text("Its normalizations, found by changing the inputs of each layer, and the likely mistakes."),
        make_code("report = normviz.inspect(model, batch)\nprint(report)"),
    ]
    return PageScript("The normalizations of a model", cells, "train")
