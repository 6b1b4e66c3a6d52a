"""The picture of a step: what its link shows in the app, without the controls, computed when the site is built."""

from collections.abc import Callable

from normviz.classroom.lessons.lesson_links import list_page_params, split_page_link
from normviz.classroom.site.cube_parts import build_compare_parts, build_lab_parts, build_same_parts
from normviz.classroom.site.derivation_parts import build_geometry_parts, build_gradient_parts
from normviz.classroom.site.step_parts import StepPart
from normviz.classroom.site.training_parts import build_experiment_parts, build_running_parts, build_table_parts
from normviz.ui.link import View, clean_values

PAGE_PICTURES: dict[str, Callable[[View], list[StepPart]]] = {
    "tensor_lab": build_lab_parts,
    "compare": build_compare_parts,
    "identities": build_same_parts,
    "gradients": build_gradient_parts,
    "geometry": build_geometry_parts,
    "invariance": build_table_parts,
    "running": build_running_parts,
    "experiments": build_experiment_parts,
}
"""The function that draws a page, by the name of its script."""


def draw_step_picture(link: str) -> list[StepPart]:
    """Return the figures and texts of a link's page as `StepPart`s; [] for a page that needs a server.

    A heading is left out if the link hides the answer. Raises InvalidInput if the values of the link do not fit each
    other.
    """
    page, values = split_page_link(link)
    if page not in PAGE_PICTURES:
        return []
    view, _ = clean_values(list_page_params(page), values)
    parts, hidden = PAGE_PICTURES[page](view), values.get("hide", "")
    return [part for part in parts if part.name != "heading" or "answer" not in hidden]
