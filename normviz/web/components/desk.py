"""The page of a lecturer as one element, which talks to the routes of a class by itself."""

from normviz.web.components.component import create_component

HTML = '<div class="nv-desk"></div>'


def show_desk(data: dict, key: str) -> None:
    """Show a lecturer the controls and counts of a class; `data`: the `DeskData` of desk.js."""
    create_component("desk", HTML, ("grid",))(key=key, data=data)
