"""The Share dialog of every page: its link, as text, as a QR code and as a frame for a course site."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape
from typing import Any
from urllib.parse import urlencode, urlsplit, urlunsplit

import streamlit as st

from normviz.ui.page_parts import list_figures
from normviz.ui.restrictions import HIDDEN_PARTS, RESTRICTION_NAMES
from normviz.web.components.copying import show_copy_field
from normviz.web.qr_code import make_qr_code

SHARING_KEY = "sharing"
"""Session key that is set for the run that opens the dialog."""

FRAME_TEMPLATE = '<iframe src="{}" title="normviz" width="100%" height="700" style="border: 0"></iframe>'


def request_share_dialog() -> None:
    """Mark in the session that the next run of the page opens the dialog."""
    st.session_state[SHARING_KEY] = True


@dataclass(frozen=True)
class SharedPage:
    """Page to share: its name, its address without values, the values in its link and all its values.

    `restrictions`: those in its link, and whether it is presented. `lock_labels`: of what can be locked, by its name in
    the link.
    """

    page: str
    address: str
    link: Mapping[str, str]
    view: Mapping[str, Any]
    restrictions: Mapping[str, Any]
    lock_labels: Mapping[str, str]


def show_requested_share_dialog(
    page: str, view: Mapping[str, Any], restrictions: Mapping[str, Any], lock_labels: Mapping[str, str]
) -> None:
    """Show the dialog if it was requested; the page's values must be in its link already."""
    if st.session_state.pop(SHARING_KEY, False):
        link = st.query_params.to_dict()
        _show_share_dialog(SharedPage(page, st.context.url or "", link, view, restrictions, lock_labels))


@st.dialog("Share this page", width="medium")
def _show_share_dialog(shared_page: SharedPage) -> None:
    if len(SECTIONS) == 1:
        draw_link_section(shared_page)
        return
    for tab, draw in zip(st.tabs(list(SECTIONS)), SECTIONS.values(), strict=True):
        with tab:
            draw(shared_page)


def draw_link_section(shared_page: SharedPage) -> None:
    """Draw the link of the page as text, as a QR code and as a frame, and the choice of what it restricts."""
    above = st.container()
    left, right = st.columns([3, 2], gap="medium")
    with left:
        link = {**shared_page.link, **_choose_restrictions(shared_page)}
    target = build_page_url(shared_page.address, link)
    with above:
        show_copy_field("Link", target, "share link")
    code = make_qr_code(target)
    with right:
        if code is None:
            st.caption("This link is too long for a QR code.")
        else:
            st.image(code, width="stretch", alt=f"QR code of {target}")
        if urlsplit(target).hostname in LOCAL_HOSTS:
            st.caption("Only this computer can open the link. Serve the app to a network: `make run ADDRESS=0.0.0.0`.")
    with st.expander("Embed in a course page"):
        show_copy_field("HTML", format_frame(shared_page.address, link), "share frame", rows=4)


def _choose_restrictions(shared_page: SharedPage) -> dict[str, str]:
    if any(shared_page.restrictions[name] for name in RESTRICTION_NAMES):
        st.caption("The link of this page hides or locks parts of it. So does the link above.")
        return {}
    st.markdown("**What others see**")
    figures, locks = list_figures(shared_page.page, shared_page.view), shared_page.lock_labels
    parts = {key: part.label for key, part in HIDDEN_PARTS.items()}
    only = st.selectbox(
        "Show", ["", *figures], format_func=lambda key: f"Only: {figures[key]}" if key else "The whole page",
        disabled=not figures,
    )  # fmt: skip
    hide = st.pills(
        "Hide", parts, selection_mode="multi", format_func=parts.__getitem__, disabled=bool(only),
        help="The heading includes the introduction and the takeaway; the menu includes links to other pages.",
    )  # fmt: skip
    lock = st.multiselect(
        "Lock", locks, format_func=locks.__getitem__, disabled=bool(only), placeholder="Nothing",
        help="A locked control shows its value, which nobody can change.",
    )  # fmt: skip
    covers = st.toggle("Cover the figures until “Show” is pressed", disabled=not figures)
    presents = shared_page.restrictions["present"] or st.toggle("Start as a presentation, in large type")
    whole = {"hide": ",".join(hide), "lock": ",".join(lock)}
    chosen = {"only": only} if only else whole
    return {name: text for name, text in chosen.items() if text} | dict.fromkeys(
        ["cover"] * covers + ["present"] * presents, "1"
    )


LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
"""Names by which a machine reaches only itself."""

SECTIONS: dict[str, Callable[[SharedPage], None]] = {"Link": draw_link_section}
"""Sections of the dialog by title, one tab each."""


def build_page_url(address: str, link: Mapping[str, str]) -> str:
    """Return the URL of a page: its address and the query parameters `link`.

    >>> build_page_url("https://example.org/compare", {"n": "2"})
    'https://example.org/compare?n=2'
    """
    parts = urlsplit(address)
    return urlunsplit(parts._replace(path=parts.path or "/", query=urlencode(link, safe=",")))


def format_frame(address: str, link: Mapping[str, str]) -> str:
    """Format the HTML of a frame that shows a page with these values, without Streamlit's own margins and menu.

    >>> format_frame("https://example.org/", {"n": "2"}).split()[1]
    'src="https://example.org/?n=2&amp;embed=true"'
    """
    return FRAME_TEMPLATE.format(escape(build_page_url(address, {**link, "embed": "true"})))
