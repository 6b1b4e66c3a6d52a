"""The app's figures, which are plain data, given to Plotly's own objects."""

import plotly.graph_objects as go


def checked(figure):
    """A figure as Plotly has it; raises ValueError where one of its values is none that Plotly knows."""
    assert figure.to_message()
    return go.Figure(figure.to_dict())
