"""What the server sends beside Streamlit's own pages: plotly.js, compressed once, and a script in every page."""

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
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
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


class WithHistory:
    """Every page of an ASGI application with history.js at its end, which is run before the page's own scripts.

    The application is asked for the whole page, as it is: neither compressed, nor left out where the browser has it,
    since what it has may be from before this script.
    """

    SCRIPT = f"<script>{(SHIPPED / 'history.js').read_text()}</script>".encode()
    NOT_ASKED = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        if scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", ""):
            kept = [(name, value) for name, value in scope["headers"] if name not in self.NOT_ASKED]
            scope, send = {**scope, "headers": kept}, self._adding(send)
        await self.app(scope, receive, send)

    def _adding(self, send: Send) -> Send:
        """Send on, with the script behind a page."""
        is_page = False

        async def send_on(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = headers.get("content-type", "").startswith("text/html")
                if is_page and "content-length" in headers:
                    headers["content-length"] = str(int(headers["content-length"]) + len(self.SCRIPT))
                    del headers["etag"], headers["last-modified"]  # of the page without the script
            elif is_page and not message.get("more_body"):
                message = {**message, "body": message.get("body", b"") + self.SCRIPT}
            await send(message)

        return send_on


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
MIDDLEWARE = [Middleware(GZipMiddleware, minimum_size=1024, compresslevel=3), Middleware(WithHistory)]
# Streamlit does not compress its own bundle. A higher level would cost more time than it saves on the network.

# Until `st.navigation` has run once, Streamlit serves a `pages` folder by itself, without app.py: a server whose first
# visitor follows a link to another page than the default one would show that page bare.
PagesManager.uses_pages_directory = False
