"""The toolbar of every page: share it, reset it, present it."""

from collections.abc import Callable
from typing import Any

from normviz.web.components.component import create_component

HTML = '<div class="nv-toolbar" role="toolbar"></div>'


def show_toolbar(
    presenting: bool,
    on_share: Callable[[], Any],
    on_reset: Callable[[], Any],
    on_present: Callable[[], Any],
    language: str,
) -> None:
    """Show the toolbar of the page: share, reset, and presentation, in which the figure fills the window.

    `language`: of lessons and classes, for screen readers.
    """
    # Not isolated: it gives the whole page another look, and walks to other pages by their links.
    show = create_component("toolbar", HTML, isolate_styles=False)
    data = {"label": "This page", "presenting": presenting, "language": language}
    show(key="toolbar", data=data, on_share_change=on_share, on_reset_change=on_reset, on_present_change=on_present)
