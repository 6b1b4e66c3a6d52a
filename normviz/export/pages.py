"""The files of a page's state: from a link, or from the values of an open page, to a script and a notebook."""

from collections.abc import Callable, Mapping
from importlib import import_module
from urllib.parse import urlencode

from normviz.classroom.lessons.lesson_links import canonicalize_values, import_page_state, split_page_link
from normviz.core.errors import InvalidInput
from normviz.core.text import join_words
from normviz.export.notebook import build_notebook
from normviz.export.script import format_script
from normviz.ui.frame import FORMER_PAGES
from normviz.ui.link import View, clean_values
from normviz.ui.page_texts import PAGE_TEXTS
from normviz.ui.redirects import translate_variants_link
from normviz.ui.tensor import fit_shape
from normviz.ui.unknown_names import shorten_text

SCRIPT_MODULES: Mapping[str, str] = {
    "tensor_lab": "lab",
    "compare": "compare",
    "identities": "same",
    "why": "why",
    "gradients": "gradients",
    "geometry": "geometry",
    "invariance": "table1",
    "design": "design",
    "running": "running",
    "experiments": "experiments",
    "weights": "weights",
    "divisive": "divisive",
    "claims": "claims",
    "model": "model",
}
"""The pages that show numbers, by the name of the page's script, and the modules of `scripts` that write theirs."""

FITTED_PAGES = ("tensor_lab", "compare", "identities")
"""Pages that reduce the shape in a link to what they can draw."""

FILE_FORMATS: Mapping[str, Callable[[str], str]] = {".py": str, ".ipynb": build_notebook}
"""The kinds of files by the ends of their names: functions from the text of a script to that of the file."""


def read_page_view(link: str) -> tuple[str, View]:
    """Parse a link; return the page's key and its values, in which invalid ones are replaced as on the page.

    >>> page, view = read_page_view("/compare?schemes=batch,layer&n=2")
    >>> page, view["schemes"], view["n"], view["h"]
    ('compare', ['batch', 'layer'], 2, 4)

    Raises:
        InvalidInput: the link leads to no page with numbers.
    """
    try:
        page, values = split_page_link(link)
    except ValueError:
        page, values = link, {}
    if page in FORMER_PAGES:
        page, values = translate_variants_link(values)
    if page not in SCRIPT_MODULES:
        pages = join_words(["/", *(f"/{each}" for each in list(SCRIPT_MODULES)[1:])])
        raise InvalidInput(f"{shorten_text(link)!r} is no link to a page with numbers; those begin with {pages}.")
    state = import_page_state(page)
    if hasattr(state, "translate_former_link"):
        translated, values = state.translate_former_link(values)
        page = page if translated == state.PAGE else translated
        state = import_page_state(page)
    view, _ = clean_values(state.PARAMS, values)
    if page in FITTED_PAGES:
        view, _ = clean_values(state.PARAMS, view | fit_shape(view))
    return page, view


def format_page_script(page: str, view: View) -> str:
    """Return the Python script of a page's state as text; `page`: key in `SCRIPT_MODULES`.

    Raises InvalidInput if the page itself can show nothing for these values.
    """
    module = import_module(f"normviz.export.scripts.{SCRIPT_MODULES[page]}")
    return format_script(module.build_script(view), format_page_link(page, view))


def format_page_file(page: str, view: View, suffix: str) -> str:
    """Return the script or notebook of a page's state as text; `suffix`: ".py" or ".ipynb". Raises InvalidInput."""
    return FILE_FORMATS[suffix](format_page_script(page, view))


def format_page_link(page: str, view: View) -> str:
    """Format the link of a page's state: "/compare?schemes=batch%2Clayer"."""
    params = import_page_state(page).PARAMS
    values = canonicalize_values(page, {each.name: each.format_for_link(view[each.name]) for each in params})
    address = "/" if page == PAGE_TEXTS[0].page else f"/{page}"
    return f"{address}?{urlencode(values)}" if values else address
