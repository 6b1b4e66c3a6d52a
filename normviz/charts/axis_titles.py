"""The titles of a cube's axes: which axes of the tensor run along a side, and whether they are averaged."""

from normviz.charts.cube_layout import Layout
from normviz.charts.palette import Theme
from normviz.describe.wording import SchemeOnShape


def make_axis_titles(scheme: SchemeOnShape, layout: Layout, colours: Theme) -> tuple[list[str], list[str]]:
    """Return the titles of x, y and z of a cube layout, and their colours; averaged axes have the field's colour."""
    along = layout.dimensions[:3]
    hues = [colours.field if scheme.is_averaged(axes) else colours.muted for axes in along]
    return [scheme.format_axis_title(axes) for axes in along], hues
