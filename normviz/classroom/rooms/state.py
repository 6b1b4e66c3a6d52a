"""The state of the lecturer's page: the case of Table 1 and the step of a lesson in its link."""

from dataclasses import dataclass

from normviz.classroom.rooms.lesson_question import list_lesson_steps
from normviz.core.registry import get_scheme
from normviz.core.settings import choice
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.table1 import state as table1
from normviz.topics.table1.cases import format_case_title
from normviz.ui.link import View, create_params

PAGE = "class"

CASE_TITLES = {
    f"{key}.{change.key}": format_case_title(get_scheme(key), change, table1.build_table_setting(vars(table1.Page())))
    for key in table1.FIRST_ROWS
    for change in TRANSFORMATIONS.values()
}
"""Titles of the cases of Table 1 to choose from, by the key of their cell."""

STEP_QUESTIONS = {step["key"]: step["question"] for lesson in list_lesson_steps() for step in lesson["steps"]}
"""Questions of the lessons, by the key of their step."""


@dataclass(frozen=True)
class Page:
    """Values of the link of the lecturer's page: a cell of Table 1, and a step of a lesson."""

    step: str = choice("", {"": "–", **STEP_QUESTIONS}, label="Step of a lesson")
    cell: str = choice(table1.Page().cell, CASE_TITLES, label="Case of Table 1")


PARAMS = create_params(Page, f"{PAGE} ")


def is_relevant(view: View, name: str) -> bool:
    """Return True: links and controls of this page have all values in every view."""
    return True
