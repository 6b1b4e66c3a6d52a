"""Charts that several topics show: pictures, statistics, contrast responses, gaps over a setting."""

from base64 import b64encode
from collections.abc import Mapping, Sequence
from io import BytesIO

import numpy as np

from normviz.charts.chart import Figure, make_subplots
from normviz.charts.palette import THEMES
from normviz.charts.style import (
    COLOUR_BAR_STYLE,
    LOG_AXIS_FLOOR,
    apply_chart_style,
    style_current_value_line,
    style_curve,
    style_marker,
    style_reference_line,
)
from normviz.core.text import format_number

MAX_HEATMAP_LABELS = 96  # most cells of a heat map whose numbers are written


def draw_pictures(
    images: Mapping[str, np.ndarray], grey_ranges: Sequence[tuple[float, float]], theme: str = "light"
) -> Figure:
    """Return a figure of pictures side by side: float arrays (height, width) in grey, or uint8 (height, width, 3).

    `grey_ranges`: for each picture, the values that are drawn black and white; unused for pictures in colour.
    """
    colours = THEMES[theme]
    figure = make_subplots(1, len(images), subplot_titles=list(images), horizontal_spacing=0.04)
    for column, (image, (low, high)) in enumerate(zip(images.values(), grey_ranges, strict=True), 1):
        place = {"row": 1, "col": column}
        if image.ndim == 3:
            figure.add("image", source=encode_data_url(image[..., :3]), hoverinfo="skip", **place)
        else:
            scale = {"colorscale": [[0, "#000000"], [1, "#ffffff"]], "showscale": False, "zmin": low, "zmax": high}
            figure.add_heatmap(z=image, hovertemplate="%{z:.4g}<extra></extra>", **scale, **place)
        height, width = image.shape[:2]
        figure.update_xaxes(range=[-0.5, width - 0.5], **place)
        anchor = f"x{column if column > 1 else ''}"
        figure.update_yaxes(range=[height - 0.5, -0.5], scaleanchor=anchor, **place)
    figure.update_xaxes(visible=False, constrain="domain")
    figure.update_yaxes(visible=False, constrain="domain")
    return apply_chart_style(figure, colours, {"t": 34, "l": 10, "b": 10})


def find_finite_range(*values: np.ndarray) -> tuple[float, float]:
    """Return the smallest and the largest finite number in all given arrays, or (0, 1) if no number is finite."""
    finite = np.concatenate([each[np.isfinite(each)] for each in values])
    return (float(finite.min()), float(finite.max())) if finite.size else (0.0, 1.0)


def encode_data_url(pixels: np.ndarray, kind: str = "png") -> str:
    """Encode uint8 pixels, (height, width) or (height, width, 3 or 4), as a data URL; `kind`: "png" or "jpeg"."""
    from PIL import Image  # imported here: most charts need no pictures

    buffer = BytesIO()
    Image.fromarray(pixels).save(buffer, kind, quality=88)
    return f"data:image/{kind};base64,{b64encode(buffer.getvalue()).decode()}"


def draw_statistics_map(
    values: np.ndarray,
    axes: Sequence[str],
    focus: Sequence[int],
    name: str,
    theme: str = "light",
    zero_threshold: float = 0.0,
) -> Figure:
    """Return a heat map of statistics (n, h, w, c), rows n and h, columns w and c, with a frame at index `focus`.

    Magnitudes up to `zero_threshold` are written as 0.
    """
    colours = THEMES[theme]
    n, h, w, c = values.shape
    flat = values.reshape(n * h, w * c)
    row, column = focus[0] * h + focus[1], focus[2] * c + focus[3]
    finite = np.abs(flat[np.isfinite(flat)])
    largest = float(finite.max()) if finite.size and finite.max() > 0 else 1.0
    scale = [[0, colours.middle], [1, colours.high]]
    if (flat < 0).any():
        scale = colours.diverging_scale
    labelled = flat.size <= MAX_HEATMAP_LABELS
    figure = Figure()
    figure.add_heatmap(
        z=flat,
        zmin=-largest if len(scale) == 3 else 0,
        zmax=largest,
        colorscale=scale,
        xgap=1,
        ygap=1,
        text=[[format_number(value, 3, zero_threshold) for value in row] for row in flat] if labelled else None,
        texttemplate="%{text}" if labelled else None,
        textfont={"size": 14},
        hovertemplate=f"{name} %{{z:.5g}}<extra></extra>",
        colorbar=COLOUR_BAR_STYLE,
    )
    frame = {"x0": column - 0.5, "x1": column + 0.5, "y0": row - 0.5, "y1": row + 0.5}
    figure.add_shape(type="rect", line={"color": colours.ink, "width": 4}, **frame)
    for update, (first, second), (outer, inner) in (
        (figure.update_xaxes, axes[2:], (w, c)),
        (figure.update_yaxes, axes[:2], (n, h)),
    ):
        names = [label for label, size in ((first, outer), (second, inner)) if size > 1]
        ticks = list(range(outer * inner)) if outer * inner <= 16 else []
        text = [
            str(t % inner) if outer == 1 else str(t // inner) if inner == 1 else f"{t // inner},{t % inner}"
            for t in ticks
        ]
        update(title=", ".join(names), tickvals=ticks, ticktext=text, showgrid=False)
    figure.update_yaxes(autorange="reversed")
    return apply_chart_style(figure, colours)


def draw_contrast_responses(
    contrasts: np.ndarray, curves: Mapping[str, np.ndarray], x_title: str, theme: str = "light"
) -> Figure:
    """Return a figure of x̂ over contrast (logarithmic): one line per named curve, the first one thick."""
    colours = THEMES[theme]
    figure = Figure()
    for k, (name, values) in enumerate(curves.items()):
        figure.add_scatter(x=contrasts, y=values, name=name, mode="lines", line=style_curve(k, colours, 3 if k else 6))
    figure.add_vline(1, line=style_current_value_line(colours))
    figure.update_layout(showlegend=True)
    figure.update_xaxes(type="log", title={"text": x_title, "standoff": 4}, exponentformat="power", dtick=1)
    figure.update_yaxes(title="x̂")
    return apply_chart_style(figure, colours, {"l": 60}, {"y": -0.24}, zero_lines="xy")


def draw_gap_panels(
    x: Sequence[float],
    panels: Mapping[str, Mapping[str, np.ndarray]],
    x_title: str,
    current_x: float | None = None,
    theme: str = "light",
) -> Figure:
    """Return a figure with a panel per name, with named curves of relative differences over x; axes are logarithmic.

    A vertical line marks `current_x`.
    """
    colours, count = THEMES[theme], len(panels)
    columns = next((few for few in (3, 2) if count % few == 0), min(3, count))
    rows = -(-count // columns)
    figure = make_subplots(
        rows, columns, shared_xaxes=True, shared_yaxes=True, horizontal_spacing=0.03,
        vertical_spacing=0.14, subplot_titles=list(panels),
    )  # fmt: skip
    for number, curves in enumerate(panels.values()):
        place = {"row": number // columns + 1, "col": number % columns + 1}
        for k, (name, gaps) in enumerate(curves.items()):
            shown = np.where(np.isnan(gaps), np.nan, np.clip(gaps, LOG_AXIS_FLOOR, 1e4))
            figure.add_scatter(
                x=list(x), y=shown, name=name, legendgroup=name, showlegend=number == 0,
                line=style_curve(k, colours, 2.5),
                marker=style_marker(k, colours), mode="lines+markers", **place,
            )  # fmt: skip
        if current_x:
            figure.add_vline(current_x, line=style_reference_line(colours), **place)
    figure.update_xaxes(tickangle=0, exponentformat="power", type="log", dtick=4 if max(x) / min(x) > 1e8 else 1)
    figure.update_yaxes(type="log", range=[-17.5, 4.2], dtick=4, exponentformat="power")
    for number in range(max(count - columns, 0), count):  # the lowest panel of every column
        place = {"row": number // columns + 1, "col": number % columns + 1}
        figure.update_xaxes(title=x_title, showticklabels=True, **place)
    return apply_chart_style(figure, colours, {"t": 30, "b": 30, "l": 60}, {"y": -0.32 / rows})
