"""What the server sends beside Streamlit's own pages: plotly.js, compressed once, announced with every page."""

import gzip
from functools import cache
from importlib.resources import files

import plotly
import streamlit as st
from starlette.datastructures import MutableHeaders
from starlette.middleware import Middleware
from starlette.middleware.gzip import GZipMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from streamlit.runtime.pages_manager import PagesManager

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
    """Where a page finds plotly.js, also when the app is served below a path of its own."""
    return "/" + f"{st.get_option('server.baseUrlPath').strip('/')}{PLOTLY_PATH}".lstrip("/")


class Announce:
    """Names plotly.js with every page: the browser would hear of it only from the first figure, after all else."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass everything on, and pages with a link."""

        async def announced(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                if headers.get("content-type", "").startswith("text/html"):
                    headers.append("Link", f"<{plotly_url()}>; rel=preload; as=script; fetchpriority=low")
            await send(message)

        await self.app(scope, receive, announced if scope["type"] == "http" else send)


ROUTES = [Route(PLOTLY_PATH, plotly_js)]
COMPRESS = Middleware(GZipMiddleware, minimum_size=1024, compresslevel=3)
# Streamlit does not compress its own bundle; at a higher level the compression takes longer than the way.
MIDDLEWARE = [Middleware(Announce), COMPRESS]

# Until `st.navigation` has run once, Streamlit serves a `pages` folder by itself, without app.py: a server whose first
# visitor follows a link to another page than the default one would show that page bare.
PagesManager.uses_pages_directory = False
