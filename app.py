"""The app, a Streamlit script and an ASGI application in one file: `streamlit run app.py` serves it."""

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext

# Before NumPy loads: OpenBLAS, MKL and PyTorch read it where their own variable is not set. Threads of thirty sessions
# that share the cores with the workers would mostly wait for each other.
os.environ.setdefault("OMP_NUM_THREADS", "1")

import streamlit as st

from normviz.classroom.lessons.panels import show_lesson_bar
from normviz.classroom.rooms.routes import create_class_routes, delete_old_classes
from normviz.export.panels import SECTION_TITLE, draw_take_home_section
from normviz.ui.frame import frame_page, show_menu
from normviz.ui.link import get_language
from normviz.ui.page_texts import translate_page_text
from normviz.ui.runs import get_spare_worker
from normviz.ui.server import EXCEPTION_HANDLERS, ICON_PATH, MIDDLEWARE, lifespan
from normviz.ui.share_dialog import SECTIONS
from normviz.web.script_routes import create_routes


@asynccontextmanager
async def prepare_app(app: st.App) -> AsyncIterator[None]:
    """Prepare the server before the first request, and delete old classes while it runs."""
    async with lifespan(app), delete_old_classes():
        get_spare_worker()  # starts a process, so that the first run of a visitor waits for no import
        yield


app = st.App(
    __file__,
    lifespan=prepare_app,
    routes=[*create_routes(), *create_class_routes()],
    middleware=MIDDLEWARE,
    exception_handlers=EXCEPTION_HANDLERS,
)

SECTIONS[SECTION_TITLE] = draw_take_home_section

if __name__ == "__main__":
    page, page_text = show_menu()
    page_text = page_text and translate_page_text(page_text, get_language())
    title = page_text.title if page_text else "normviz"
    st.set_page_config(page_title=f"{title} · normviz", page_icon=str(ICON_PATH), layout="wide")
    in_lesson = page_text is not None and show_lesson_bar()  # in place of the page's heading
    with frame_page(page_text) if page_text and not in_lesson else nullcontext():
        page.run()
