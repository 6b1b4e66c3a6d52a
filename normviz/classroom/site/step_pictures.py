"""The picture of a step: what its link shows in the app, without the controls, computed when the site is built."""

from collections.abc import Callable

from normviz.classroom.lessons.lesson_links import list_page_params, split_page_link
from normviz.classroom.site.cube_parts import draw_compare_parts, draw_lab_parts, draw_same_parts
from normviz.classroom.site.derivation_parts import draw_geometry_parts, draw_gradient_parts
from normviz.classroom.site.step_parts import StepPart
from normviz.classroom.site.training_parts import draw_experiment_parts, draw_running_parts, draw_table_parts
from normviz.ui.link import View, clean_values

PAGE_PICTURES: dict[str, Callable[[View], list[StepPart]]] = {
    "tensor_lab": draw_lab_parts,
    "compare": draw_compare_parts,
    "identities": draw_same_parts,
    "gradients": draw_gradient_parts,
    "geometry": draw_geometry_parts,
    "invariance": draw_table_parts,
    "running": draw_running_parts,
    "experiments": draw_experiment_parts,
}
"""The function that draws a page, by the name of its script."""


def draw_step_picture(link: str) -> list[StepPart]:
    """Return the step parts that show a link's page; [] for a page that needs a server. Hidden headlines are left out.

    Raises:
        InvalidInput: the values of the link do not fit each other.
    """
    page, values = split_page_link(link)
    if page not in PAGE_PICTURES:
        return []
    view, _ = clean_values(list_page_params(page), values)
    parts, hidden = PAGE_PICTURES[page](view), values.get("hide", "")
    return [part for part in parts if part.name != "heading" or "answer" not in hidden]
