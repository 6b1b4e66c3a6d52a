"""The section "Take home" of the Share dialog: the page's state as a notebook and a script, and the citation."""

import streamlit as st

from normviz.core.errors import InvalidInput
from normviz.data.output import encode_npy
from normviz.export.notebook import build_notebook
from normviz.export.pages import SCRIPT_MODULES, format_page_script
from normviz.export.project import format_citation
from normviz.export.scheme_code import OWN_TENSOR_FILE
from normviz.ui.frame import show_error
from normviz.ui.link import View
from normviz.ui.share_dialog import SharedPage
from normviz.ui.tensor import has_own_tensor, make_tensor
from normviz.web.components.copying import show_copy_field

SECTION_TITLE = "Take home"

SCRIPT_NAMES = {"lab": "tensor_lab", "table": "invariance"}
"""The names of pages' scripts, by the names of the pages in the session, where they differ."""

FILES_NOTE = (
    "Some tables have “Download CSV” below them. To save a figure, press the button in its corner: as PNG, as SVG, "
    "or as a web page that works offline."
)
"""Note on the other files of a page."""


def draw_take_home_section(shared_page: SharedPage) -> None:
    """Draw the downloads of the page that is shared, if it has a script, and the citation."""
    page = SCRIPT_NAMES.get(shared_page.page, shared_page.page)
    if page in SCRIPT_MODULES:
        _draw_files(page, dict(shared_page.view))
    show_copy_field("Citation", format_citation(), "share citation", rows=3)


def _draw_files(page: str, view: View) -> None:
    """Draw the downloads of a page's state and its script as text; show an error if the page's values are invalid."""
    try:
        text = format_page_script(page, view)
    except InvalidInput as error:
        show_error(error)
        return
    st.markdown("Code that prints the numbers of this page. Open the notebook in Jupyter or Colab.")
    with st.container(horizontal=True, gap="small"):
        st.download_button(
            "Notebook", lambda: build_notebook(text), f"{page}.ipynb", "application/x-ipynb+json", on_click="ignore",
            icon=":material/download:", key="take home notebook",
        )  # fmt: skip
        st.download_button(
            "Script", text, f"{page}.py", "text/x-python", on_click="ignore", icon=":material/download:",
            key="take home script",
        )  # fmt: skip
        if "data" in view and has_own_tensor(view):
            st.download_button(
                OWN_TENSOR_FILE, lambda: encode_npy(make_tensor(view)), OWN_TENSOR_FILE, on_click="ignore",
                icon=":material/download:", key="take home tensor",
            )  # fmt: skip
    with st.expander("Read the script"):
        st.code(text, "python", height=360)
    st.caption(FILES_NOTE)
