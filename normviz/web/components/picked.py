"""What is picked, on a phone, whose sidebar is closed: a bar at the lower edge that says it, and opens the sidebar."""

from normviz.web.components.component import create_component

HTML = '<button type="button" class="nv-picked"><span></span><b>Change</b></button>'


def show_choice_bar(text: str) -> None:
    """Show the bar in an element of the class `st-key-picked`; style.css shows it where the sidebar starts closed.

    A choice of one scheme or experiment closes the sidebar again, so that the page is seen.
    """
    create_component("picked", HTML)(key="picked", data={"text": text})
