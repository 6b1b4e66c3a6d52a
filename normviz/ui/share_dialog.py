"""The Share dialog of every page: its link, as text, as a QR code and as a frame for a course site."""

from collections.abc import Callable
from html import escape
from urllib.parse import urlencode

import streamlit as st

from normviz.web.components.copying import show_copying
from normviz.web.qr_code import make_qr_code

SHARING_KEY = "sharing"
"""Session key that is set for the run that opens the dialog."""

FRAME_TEMPLATE = '<iframe src="{}" title="normviz" width="100%" height="700" style="border: 0"></iframe>'


def request_share_dialog() -> None:
    """Have the next run open the dialog."""
    st.session_state[SHARING_KEY] = True


def show_requested_share_dialog() -> None:
    """Show the dialog if it was requested; the page's values must be in its link already."""
    if st.session_state.pop(SHARING_KEY, False):
        _show_share_dialog(st.context.url or "", st.query_params.to_dict())


@st.dialog("Share this page", width="medium")
def _show_share_dialog(address: str, link: dict[str, str]) -> None:
    """Show the sections of the dialog.

    Args:
        address: of the page, without its values.
        link: the values in the page's link.
    """
    if len(SECTIONS) == 1:
        draw_link_section(address, link)
        return
    for tab, draw in zip(st.tabs(list(SECTIONS)), SECTIONS.values(), strict=True):
        with tab:
            draw(address, link)


def draw_link_section(address: str, link: dict[str, str]) -> None:
    """Draw the link of the page as text, as a QR code and as a frame."""
    target = join_link(address, link)
    show_copying("Link", target, "share link")
    code = make_qr_code(target)
    if code is None:
        st.caption("This link is too long for a QR code.")
    else:
        st.image(code, width=220, alt=f"QR code of {target}")
    show_copying("Frame for a course site", format_frame(address, link), "share frame", rows=3)


SECTIONS: dict[str, Callable[[str, dict[str, str]], None]] = {"Link": draw_link_section}
"""Sections of the dialog by title: functions of the page's address and of the values in its link, one tab each."""


def join_link(address: str, link: dict[str, str]) -> str:
    """Join the address of a page and the values of its link.

    >>> join_link("https://example.org/compare", {"n": "2"})
    'https://example.org/compare?n=2'
    """
    return f"{address}?{urlencode(link)}" if link else address


def format_frame(address: str, link: dict[str, str]) -> str:
    """Format the HTML of a frame that shows a page with these values, without Streamlit's own margins and menu.

    >>> format_frame("https://example.org/", {"n": "2"}).split()[1]
    'src="https://example.org/?n=2&amp;embed=true"'
    """
    return FRAME_TEMPLATE.format(escape(join_link(address, link | {"embed": "true"})))
