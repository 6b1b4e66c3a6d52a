"""Table 1 as data for the grid: the words, marks and outlines of every cell."""

from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from normviz.core.schemes import Scheme, same_as
from normviz.core.transformations import PAPER, TRANSFORMATIONS, Transformation
from normviz.describe.wording import gap_text, labelled, sentence
from normviz.networks.problem import position
from normviz.networks.setting import Setting
from normviz.table1.playback import Curve, playback
from normviz.table1.table import Cell
from normviz.ui.palette import THEMES

ANSWERS = {True: "yes", False: "no", None: "none"}
WORDS = {"yes": "invariant", "no": "not invariant", "fades": "fades with ε", "none": "degenerate", "wait": "training …"}
UNCHANGED = "δ = 1 changes nothing"

OPENS = "opened"
"""The key of the element that shows the open cell."""

LEGEND = (
    {"mark": "yes", "text": "invariant: the twins stay together"},
    {"mark": "no", "text": "not invariant: they part"},
    {"mark": "fades", "text": "invariant at ε = 0 only"},
    {"mark": "none", "text": "nothing can be told"},
    {"mark": "wait", "text": "not over yet"},
    {"line": "original", "text": "loss of the original network"},
    {"line": "transformed", "text": "of its twin, transformed"},
    {"line": "matched", "text": "of its twin, at an equal learning rate"},
    {"line": "gap", "text": "the largest gap so far, 10⁻¹⁷ to 1"},
    {"frame": "paper", "text": "in the paper's table"},
    {"frame": "ours", "text": "not in it"},
    {"frame": "alert", "text": "the answers disagree"},
)
"""What the marks, curves and frames of the grid mean."""


def grid_data(
    cells: Sequence[Cell],
    schemes: Sequence[Scheme],
    setting: Setting,
    opened: str,
    covered: Collection[str],
    theme: str,
    losses: Sequence[np.ndarray],
    follow: bool,
) -> dict:
    """What `ui.grid.grid` draws and plays.

    `covered`: the keys of the cells whose answers are not shown; `losses`: of every row, (steps so far, networks);
    `follow`: whether the learning rate of re-scaled weights follows them.
    """
    by_key = {key_of(cell): cell for cell in cells}
    colours = THEMES[theme]
    roles = ("yes", "no", "original", "transformed", "matched")
    curves = {
        key: Curve(row, position(change, follow), role_of(change, follow))
        for row, scheme in enumerate(schemes)
        for change in TRANSFORMATIONS.values()
        if (key := f"{scheme.key}.{change.key}") not in covered
    }
    return {
        "label": "Table 1: schemes and transformations",
        "corner": "",
        "colours": {role: getattr(colours, role) for role in roles},
        "open": opened,
        "opens": OPENS,
        "legend": LEGEND,
        "played": playback(losses, setting.steps, curves),
        "columns": [
            {"name": sentence(change.name).replace("-", "\u2011"), "change": change.plain}  # a hyphen that stays
            for change in TRANSFORMATIONS.values()
        ],
        "rows": [
            {
                "name": scheme.label,
                "note": _note(scheme, setting),
                "cells": [
                    cell_data(by_key[f"{scheme.key}.{change}"], scheme, f"{scheme.key}.{change}" in covered)
                    for change in TRANSFORMATIONS
                ],
            }
            for scheme in schemes
        ],
    }


def role_of(change: Transformation, follow: bool) -> str:
    """Which twin is trained: that whose learning rate follows its weights, or the one at the original's."""
    return "transformed" if follow or change.weight_factor is None else "matched"


def key_of(cell: Cell) -> str:
    """A cell in links: scheme.transformation."""
    return f"{cell.scheme}.{cell.transformation}"


def cell_data(cell: Cell, scheme: Scheme, covered: bool) -> dict:
    """One cell: its word, its three marks, and what stands out."""
    name = f"{scheme.label}, {TRANSFORMATIONS[cell.transformation].name}"
    if covered:
        return {"key": key_of(cell), "title": f"{name}: covered", "covered": True, "paper": cell.paper is not None}
    marks: list[dict[str, Any]] = [
        {"answer": predicted_answer(cell), "name": "predicted", "value": ""},
        {"answer": forward_answer(cell), "name": "forward", "value": gap_text(cell.forward_gap)},
        {"answer": trained_answer(cell), "name": "trained", "value": gap_text(trained_gap(cell)), "counts": True},
    ]
    word, note = word_of(cell), ""
    if cell.paper is not None and cell.paper != cell.predicted and not cell.unchanged:
        note = f"paper: {WORDS[ANSWERS[cell.paper]]}"
    said = "; ".join(f"{mark['name']}: {WORDS[mark['answer']] if mark['answer'] != 'none' else '–'}" for mark in marks)
    return {
        "key": key_of(cell),
        "title": f"{name}: {word} ({said}{'; ' + note if note else ''})",
        "covered": False,
        "paper": cell.paper is not None,
        "alert": not cell.agrees,
        "answer": predicted_answer(cell),
        "word": word,
        "marks": marks,
        "note": note,
    }


def word_of(cell: Cell) -> str:
    """The cell in a word or two."""
    if cell.degenerate:
        return WORDS["none"]
    if cell.unchanged:
        return UNCHANGED
    if not cell.agrees:
        return "disagree"
    if cell.parted_by_rate and cell.predicted:
        return "forward only"
    return WORDS[predicted_answer(cell)]


def predicted_answer(cell: Cell) -> str:
    """The rule's answer."""
    if cell.degenerate or cell.unchanged:
        return "none"
    return "fades" if cell.fades else ANSWERS[cell.predicted]


def forward_answer(cell: Cell) -> str:
    """The forward pass's answer; "wait" before it."""
    return "wait" if np.isnan(cell.forward_gap) else ANSWERS[cell.forward]


def trained_answer(cell: Cell) -> str:
    """Training's answer; "wait" while it is not over, and may still bring one."""
    return "wait" if cell.trained is None and cell.pending and not cell.unchanged else ANSWERS[cell.trained]


def trained_gap(cell: Cell) -> float:
    """The training gap that is judged."""
    return cell.training_gap_equal_lr if cell.parted_by_rate else cell.training_gap


def _note(scheme: Scheme, setting: Setting) -> str:
    """Under the name of a row: that the paper has it, or what a custom scheme is."""
    if scheme.key == "custom":
        twins = [labelled(other) for other in same_as(scheme, setting.shapes[0])]
        return f"= {twins[0]}" if twins else "your own"
    return "in the paper" if scheme.key in PAPER else ""
