"""Data for the map of all cases of Table 1: pictograms, rows, and the answer of every case that is not covered."""

from collections.abc import Collection, Sequence

from normviz.charts.palette import THEMES
from normviz.core.registry import NAMED_SCHEMES, Scheme, find_equal_schemes
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import capitalize_first, format_scheme_label
from normviz.topics.table1 import cases
from normviz.topics.table1.table import Cell
from normviz.train.setting import Setting

ANSWER_SIGNS = {"yes": "=", "no": "≠", "fades": "≈", "none": "–"}
ANSWER_LABELS = {"yes": "same", "no": "differs", "fades": "nearly", "none": "unclear"}
"""Answers as a sign and as a word, by key: whether the network and its twin have the same loss at every step."""

UNCHANGED_TEXT = "δ = 1 changes nothing"

CASE_KEY = "case"
"""Key of the element that shows the open case."""


def build_grid_data(
    cells: Sequence[Cell], schemes: Sequence[Scheme], setting: Setting, open_key: str, hidden_keys: Collection[str],
    theme: str, small: bool,
) -> dict:  # fmt: skip
    """Return the data of Table 1 for `web.components.grid.show_grid`: columns, rows, and the answer of every cell.

    `hidden_keys`: of the cells whose answers are hidden; `small`: True for a small table, as before the first guess.
    """
    by_key, colours = {get_cell_key(cell): cell for cell in cells}, THEMES[theme]
    return {
        "label": "All cases: normalizations and changes",
        "colours": {"yes": colours.yes, "no": colours.no, "changed": colours.transformed, "kept": colours.grid},
        "open": open_key,
        "shows": CASE_KEY,
        "small": small,
        "groups": {"weights": "Weights", "data": "Images"},
        "columns": [
            {
                "on": change.on, "one": bool(change.factor), "added": change.factor is None,
                "sign": cases.format_change_sign(change, setting),
                "name": cases.fill_change_words(cases.CHANGE_WORDS[change.key].short, change, setting),
            }
            for change in TRANSFORMATIONS.values()
        ],
        "rows": [
            {
                "name": capitalize_first(cases.shorten_scheme_name(scheme))
                if len(cases.shorten_scheme_name(scheme)) <= 16
                else scheme.label,
                "note": _format_row_note(scheme, setting),
                "cells": [
                    build_cell_data(by_key[key], scheme, setting, key in hidden_keys)
                    for key in (f"{scheme.key}.{change}" for change in TRANSFORMATIONS)
                ],
            }
            for scheme in schemes
        ],
    }  # fmt: skip


def get_cell_key(cell: Cell) -> str:
    """Return the key of a cell in links: "scheme.transformation"."""
    return f"{cell.scheme}.{cell.transformation}"


def build_cell_data(cell: Cell, scheme: Scheme, setting: Setting, covered: bool) -> dict:
    """Return the data of one cell of the table for the browser; without its answer if `covered`."""
    change = TRANSFORMATIONS[cell.transformation]
    name = cases.format_case_title(scheme, change, setting)
    if covered:
        return {"key": get_cell_key(cell), "title": f"{name}: not guessed yet", "covered": True}
    answer = classify_case_answer(cell)
    word = ANSWER_LABELS[answer] if cell.agrees else "disagree"
    return {
        "key": get_cell_key(cell), "title": f"{name}: {word}", "covered": False, "alert": not cell.agrees,
        "answer": answer, "sign": ANSWER_SIGNS[answer], "word": word,
    }  # fmt: skip


def classify_case_answer(cell: Cell) -> str:
    """Return the predicted answer of a cell as a key of `ANSWER_SIGNS`: "yes" if both losses stay the same."""
    if cell.degenerate or cell.unchanged:
        return "none"
    if cell.fades:
        return "fades"
    return "yes" if cell.predicted and not cell.parted_by_rate else "no"


def select_training_gap(cell: Cell) -> float:
    """Return the cell's training gap at the learning rate that its verdict is about."""
    return cell.training_gap_equal_lr if cell.parted_by_rate else cell.training_gap


def _format_row_note(scheme: Scheme, setting: Setting) -> str:
    """Return the note below the name of a row: what the scheme does, or which scheme a custom scheme equals."""
    if scheme.key in NAMED_SCHEMES:
        return cases.describe_table_row(scheme, setting)
    twins = [format_scheme_label(other) for other in find_equal_schemes(scheme, setting.shapes[0])]
    return f"= {twins[0]}" if twins else "your own"
