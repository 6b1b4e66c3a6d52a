"""Legend of the colours of a chart in words, beside the chart."""

from collections.abc import Iterable

import streamlit as st


def show_legend(rows: Iterable[tuple[str, str, str]]) -> None:
    """Show a line for each colour, name and sentence in `rows`, which are HTML of this app, not of its visitors."""
    lines = (f'<div><i style="background:{colour}"></i><b>{name}</b>: {text}</div>' for colour, name, text in rows)
    st.html(f'<div class="nv-legend">{"".join(lines)}</div>')
