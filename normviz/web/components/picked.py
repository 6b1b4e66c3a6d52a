"""A bar at the lower edge of a phone's screen that names the current choice and opens the sidebar."""

from normviz.web.components.component import create_component

HTML = '<button type="button" class="nv-picked"><span></span><b>Change</b></button>'


def show_choice_bar(text: str) -> None:
    """Show a bar with the current choice, for small screens where the sidebar is closed.

    Choosing one scheme or experiment closes the sidebar again.
    """
    create_component("picked", HTML)(key="picked", data={"text": text})
