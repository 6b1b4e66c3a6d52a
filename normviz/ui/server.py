"""What the server sends beside Streamlit's own pages: plotly.js, compressed once; and how it finds a page."""

import gzip
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import cache
from importlib import import_module
from importlib.resources import files
from pathlib import Path
from pkgutil import walk_packages

import plotly
import streamlit as st
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from streamlit.runtime.pages_manager import PagesManager

import normviz

SHIPPED = Path(__file__).parent
ICON, STYLE = SHIPPED / "icon.png", SHIPPED / "style.css"
"""Of the page; an icon by name, ":material/…:", would make every visitor's browser ask a server on the internet."""

PLOTLY_PATH = f"/vendor/plotly-{plotly.__version__}.min.js"
"""The version is in the name, so that a browser may keep it for good."""


@cache
def _plotly_js(compressed: bool) -> bytes:
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return gzip.compress(script, mtime=0) if compressed else script


def plotly_js(request: Request) -> Response:
    """plotly.js from the installed package."""
    compressed = "gzip" in request.headers.get("accept-encoding", "")
    headers = {"Cache-Control": "public, max-age=31536000, immutable", "Vary": "Accept-Encoding"}
    headers |= {"Content-Encoding": "gzip"} if compressed else {}
    return Response(_plotly_js(compressed), media_type="text/javascript", headers=headers)


def plotly_url() -> str:
    """Where a page finds plotly.js, also when the app is served below a path of its own.

    A page asks for it with its first figure. A preload link in the page itself gained 0.2 s for the first cube, and
    cost 1.4 s before the grid of Table 1, since the browser was busy with the script.
    """
    return "/" + f"{st.get_option('server.baseUrlPath').strip('/')}{PLOTLY_PATH}".lstrip("/")


def bring_up() -> None:
    """Import all that pages share, in one thread, before the first visitor is served.

    plotly and narwhals look for pandas in `sys.modules`, without waiting for a thread that is still importing it: of
    thirty sessions that opened a page at once on a server just started, 25 saw "partially initialized module 'pandas'".
    """
    import_module("pandas")
    for module in walk_packages(normviz.__path__, "normviz."):
        if not module.name.startswith("normviz.networks"):  # torch comes with the first training
            import_module(module.name)


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """What happens before the first request."""
    bring_up()
    yield


ROUTES = [Route(PLOTLY_PATH, plotly_js)]
MIDDLEWARE = [Middleware(GZipMiddleware, minimum_size=1024, compresslevel=3)]
# Streamlit does not compress its own bundle. A higher level would cost more time than it saves on the network.

# Until `st.navigation` has run once, Streamlit serves a `pages` folder by itself, without app.py: a server whose first
# visitor follows a link to another page than the default one would show that page bare.
PagesManager.uses_pages_directory = False
