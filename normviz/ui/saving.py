"""Downloads of tables."""

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st


def draw_download_button(columns: Callable[[], Mapping[str, Sequence[Any]]], name: str) -> None:
    """Draw a button that saves a table as name.csv; `columns` is called when it is pressed."""
    st.download_button("Download CSV", lambda: format_csv(columns()), f"{name}.csv", "text/csv", on_click="ignore")


def format_csv(columns: Mapping[str, Sequence[Any]]) -> str:
    """Format a table as CSV: numbers with all digits and ASCII minus signs, None as an empty cell."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*columns.values(), strict=True))
    return text.getvalue().replace("−", "-")
