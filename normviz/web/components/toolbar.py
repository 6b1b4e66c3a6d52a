"""What can be done with every page: copy its link, set it back, show it to a class."""

from collections.abc import Callable
from typing import Any

from normviz.web.components.component import create_component

HTML = '<div class="nv-toolbar" role="toolbar"></div>'


def show_toolbar(presenting: bool, on_reset: Callable[[], Any], on_present: Callable[[], Any]) -> None:
    """Show the toolbar in an element of the class `st-key-toolbar`.

    Args:
        presenting: whether the page is shown to a class: the browser then gives all room to it, in large type.
        on_reset: called when the page is to be as it was at first.
        on_present: called when a presentation begins or ends.
    """
    # Not isolated: it gives the whole page another look, and walks to other pages by their links.
    show = create_component("toolbar", HTML, isolate_styles=False)
    data = {"label": "This page", "presenting": presenting}
    show(key="toolbar", data=data, on_reset_change=on_reset, on_present_change=on_present)
