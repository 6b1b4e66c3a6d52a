"""Data of the lecturer's page."""

from functools import cache

from normviz.charts.palette import THEMES
from normviz.classroom.rooms.cell_question import make_cell_question
from normviz.classroom.rooms.lesson_question import list_lesson_steps
from normviz.classroom.rooms.state import CASE_TITLES
from normviz.classroom.rooms.table_words import translate_table_text
from normviz.core.registry import get_scheme
from normviz.describe.interface_words import get_words
from normviz.topics.table1.grid import build_grid_data
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.state import FIRST_ROWS, Page, build_table_setting
from normviz.topics.table1.table import build_cells
from normviz.ui.page_texts import PAGE_TEXTS
from normviz.web.script_routes import prefix_base_path


def build_desk_data(cell: str, step: str, language: str) -> dict:
    """Return what `show_desk` shows a lecturer: texts, Table 1 with `cell` chosen, and lessons with `step` chosen.

    `cell` and `step` are keys; "" for no step.
    """
    pages = {"/" if text is PAGE_TEXTS[0] else f"/{text.page}": text.title for text in PAGE_TEXTS}
    return {
        "base": prefix_base_path(""),
        "language": language,
        "words": get_words("desk", language),
        "pages": pages,
        "grid": _build_unanswered_table(cell, language),
        "cells": _build_cell_questions(language),
        "lessons": list_lesson_steps(language),
        "examples": get_words("examples", language),
        "step": step,
    }


@cache
def _build_cell_questions(language: str) -> dict[str, dict]:
    """Return the question on each cell of Table 1, with its answers, by the cell's key."""
    return {key: make_cell_question(key, language).to_data() for key in CASE_TITLES}


def _build_unanswered_table(cell: str, language: str) -> dict:
    """Return the data of Table 1 on invariances for `show_grid`, with `cell` chosen and all answers hidden."""
    setting, schemes = build_table_setting(vars(Page())), [get_scheme(key) for key in FIRST_ROWS]
    cells = build_cells(schemes, setting, TableResultCache())
    light, dark = (build_grid_data(cells, schemes, setting, cell, CASE_TITLES, theme, True) for theme in THEMES)

    def translate(data: dict, *names: str) -> dict:
        return data | {name: translate_table_text(data[name], language) or data[name] for name in names}

    rows = [
        translate(row, "name", "note")
        | {"cells": [translate(each | {"title": CASE_TITLES[each["key"]]}, "title") for each in row["cells"]]}
        for row in light["rows"]
    ]
    columns = [translate(column, "sign", "name") for column in light["columns"]]
    translated = {"groups": translate(light["groups"], *light["groups"]), "columns": columns, "rows": rows}
    colours = {role: f"light-dark({colour}, {dark['colours'][role]})" for role, colour in light["colours"].items()}
    return translate(light, "label") | translated | {"colours": colours}
