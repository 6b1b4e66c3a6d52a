"""The page of a lecturer as one element, which talks to the routes of a class by itself."""

from normviz.web.components.component import create_component

HTML = '<div class="nv-desk"></div>'


def show_desk(data: dict, key: str) -> None:
    """Show a lecturer the controls and counts of a class: start it, ask questions, see the answers.

    Args:
        data: base: the path of the app; words, by name; pages: titles by address; grid: as for `grid.show_grid`, with
            every cell covered; cells: their questions; lessons: titles and steps; step: the key of the chosen one.
        key: of the element.
    """
    create_component("desk", HTML, ("grid",))(key=key, data=data)
