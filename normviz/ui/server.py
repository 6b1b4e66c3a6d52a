"""The server's additions to Streamlit: plotly.js, compressed once, and scripts and styles in every page."""

import os
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib import import_module
from pathlib import Path
from pkgutil import walk_packages

import streamlit as st
from starlette.datastructures import Headers, MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime.pages_manager import PagesManager

import normviz
from normviz.core.errors import InvalidInput
from normviz.ui import security
from normviz.web.modules import INLINE_FOLDER, read_styles
from normviz.web.script_routes import JOIN_PATH, format_preload_links, prefix_base_path

ICON_PATH = Path(__file__).with_name("icon.png")
"""The page's icon; an icon by name, ":material/…:", would make every browser request it from another server."""

NOT_SHARED = ("normviz.train", "normviz.inspection", "normviz.testing", "normviz.cli")
"""Packages that the server does not import at its start: torch takes a second and 120 MB."""


INLINE_STYLES = ("frame", "pages", "teaching", "page_html")
"""Styles of `INLINE_FOLDER` in every page; a later one overrides those before it."""

INLINE_SCRIPTS = ("history", "opening", "embedding")
"""Scripts of `INLINE_FOLDER` in every page, in this order."""


class InjectionMiddleware:
    """ASGI middleware that adds its styles, its scripts and module links to every page of Streamlit.

    The scripts run before the page's own. A style that came with the first run would move the content.

    It requests the whole page, uncompressed and unconditionally, since the browser's cached copy may be older.
    """

    OURS = (
        f"<style>{read_styles([f'inline/{name}' for name in INLINE_STYLES])}</style>"
        f"<script>{''.join((INLINE_FOLDER / f'{name}.js').read_text() for name in INLINE_SCRIPTS)}</script>"
    ).encode()
    NOT_ASKED = (b"accept-encoding", b"if-none-match", b"if-modified-since", b"range")

    def __init__(self, app: ASGIApp) -> None:
        self.app = app
        self.added = self.OURS + format_preload_links("plot.js").encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        is_visit = scope["type"] == "http" and "text/html" in Headers(scope=scope).get("accept", "")
        if is_visit and not f"{scope['path']}/".startswith(f"{prefix_base_path(JOIN_PATH)}/"):
            kept = [(name, value) for name, value in scope["headers"] if name not in self.NOT_ASKED]
            scope, send = {**scope, "headers": kept}, self._wrap_send(send)
        await self.app(scope, receive, send)

    def _wrap_send(self, send: Send) -> Send:
        """Return `send` wrapped so that the additions are appended to HTML pages."""
        is_page = False

        async def send_on(message: Message) -> None:
            nonlocal is_page
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                is_page = headers.get("content-type", "").startswith("text/html")
                if is_page and "content-length" in headers:
                    headers["content-length"] = str(int(headers["content-length"]) + len(self.added))
                    del headers["etag"], headers["last-modified"]  # of the page without ours
            elif is_page and not message.get("more_body"):
                message = {**message, "body": message.get("body", b"") + self.added}
            await send(message)

        return send_on


def require_valid_environment() -> None:
    """Exit with a line on stderr if an environment variable has an invalid value."""
    try:
        security.check_environment(os.environ)
    except InvalidInput as error:
        sys.exit(f"normviz: {error}")


def import_shared_modules() -> None:
    """Import all shared modules in one thread, before the first visitor is served.

    plotly and narwhals look for pandas in `sys.modules`, without waiting for a thread that is still importing it: of
    thirty sessions that opened a page on a new server at once, 25 saw "partially initialized module 'pandas'".
    """
    import pandas  # noqa: F401 - pages use it through other libraries

    for module in walk_packages(normviz.__path__, "normviz."):
        if not module.name.startswith(NOT_SHARED):
            import_module(module.name)


@asynccontextmanager
async def lifespan(app: st.App) -> AsyncIterator[None]:
    """Prepare the server before the first request."""
    import_shared_modules()
    sys.setswitchinterval(0.001)  # of the default 5 ms, a page's first messages would wait 4 more for its script
    yield


def create_error_response(request: Request, error: Exception) -> Response:
    """Create the response to an error of the server itself, with the headers that middleware would add."""
    return PlainTextResponse("Internal Server Error", 500, SECURITY_HEADERS)


require_valid_environment()
SECURITY_HEADERS = security.create_security_headers(
    Path(st.__file__).with_name("static").joinpath("index.html").read_bytes() + InjectionMiddleware.OURS,
    security.read_frame_ancestors(os.environ),
)
MIDDLEWARE = [
    Middleware(security.HeadersMiddleware, headers=SECURITY_HEADERS),
    *([] if security.is_metrics_open(os.environ) else [Middleware(security.HideMetricsMiddleware)]),
    # Streamlit does not compress its own bundle. A higher level would cost more time than it saves on the network.
    Middleware(GZipMiddleware, minimum_size=1024, compresslevel=3),
    Middleware(InjectionMiddleware),
]
EXCEPTION_HANDLERS = {Exception: create_error_response}

# Until `st.navigation` has run once, Streamlit serves a `pages` folder by itself, without app.py: a server whose first
# visitor follows a link to another page than the default one would show that page bare.
PagesManager.uses_pages_directory = False
