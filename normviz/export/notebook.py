"""Scripts as Jupyter notebooks, in nbformat 4.5."""

import json

from normviz.export.script import ScriptCell, split_cells


def build_notebook(text: str) -> str:
    """Convert the text of a script to a Jupyter notebook as JSON text, cell by cell, without outputs."""
    content = {
        "cells": [_build_cell(number, cell) for number, cell in enumerate(split_cells(text))],
        "metadata": {
            "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
            "language_info": {"name": "python"},
        },
        "nbformat": 4,
        "nbformat_minor": 5,
    }
    return json.dumps(content, ensure_ascii=False, indent=1) + "\n"


def _build_cell(number: int, cell: ScriptCell) -> dict[str, object]:
    shared = {"id": f"cell-{number}", "metadata": {}, "source": cell.source.splitlines(keepends=True)}
    if cell.is_text:
        return {"cell_type": "markdown", **shared}
    return {"cell_type": "code", "execution_count": None, "outputs": [], **shared}
