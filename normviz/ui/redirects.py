"""Redirects of links to former pages and panels."""

from collections.abc import Callable, Mapping

import streamlit as st

from normviz.ui.frame import switch_to_page

Translator = Callable[[Mapping[str, str]], tuple[str, dict[str, str]]]
"""Function that returns the page, by its script, and the link of today for the link of a page."""


def follow_former_link(page: str, translate: Translator) -> None:
    """Rewrite the URL of an outdated link by `translate`, and open the page that shows its view now."""
    former = st.query_params.to_dict()
    target, link = translate(former)
    if target != page:
        switch_to_page(target, link)
    if link != former:
        st.query_params.from_dict(link)


def translate_variants_link(former: Mapping[str, str]) -> tuple[str, dict[str, str]]:
    """Return the current page and URL parameters for a link to the former page of variants and of the detector.

    Example:
        >>> translate_variants_link({"try": "blog"})
        ('identities', {'try': 'blog', 'panel': 'detect'})
    """
    return "identities", {**former, "panel": "detect" if {"try", "layout"} & former.keys() else "variants"}
