"""Routes of what a browser fetches: plotly.js, the modules of normviz/web, and the page that a cube is saved as.

The version or a digest is in the address of scripts, so that a browser may cache them forever.
"""

import gzip
from functools import cache

import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from normviz.web.modules import MODULE_SOURCES, MODULES_DIGEST, find_imports
from normviz.web.plotly_script import get_plotly_version, read_plotly_script
from normviz.web.web_page import build_page_template

IMMUTABLE_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable"}

JOIN_PATH = "join"
"""Path of the page where students join a class, below the base path of the app; it is not one of Streamlit's."""


@cache
def _compress_plotly_script() -> bytes:
    return gzip.compress(read_plotly_script(), mtime=0)


def serve_plotly(request: Request) -> Response:
    """Serve plotly.js of the installed package, compressed if the browser accepts it."""
    compressed = "gzip" in request.headers.get("accept-encoding", "")
    headers = IMMUTABLE_HEADERS | {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if compressed else {})
    script = _compress_plotly_script() if compressed else read_plotly_script()
    return Response(script, media_type="text/javascript", headers=headers)


def serve_module(request: Request) -> Response:
    """Serve a JavaScript module at the address with its current digest; 404 for any other address."""
    name = request.path_params["name"]
    if name not in MODULE_SOURCES or request.path_params["digest"] != MODULES_DIGEST:
        return Response("no such script", 404)
    return Response(MODULE_SOURCES[name], media_type="text/javascript", headers=IMMUTABLE_HEADERS)


def serve_saved_page_template(request: Request) -> Response:
    """Serve the template of the web page that a cube is saved as, as plain text for a script to fill in."""
    return Response(
        build_page_template(), media_type="text/plain; charset=utf-8", headers={"Cache-Control": "no-cache"}
    )


def get_plotly_url() -> str:
    """Return the address of plotly.js.

    A page requests it with its first figure. A preload link gains nothing before the first cube and delays the page by
    1.3 s, because the browser is busy with the script.
    """
    return prefix_base_path(f"vendor/plotly-{get_plotly_version()}.min.js")


def get_saved_page_url() -> str:
    """Return the address of `serve_saved_page_template`."""
    return prefix_base_path("vendor/page.txt")


def get_module_url(name: str) -> str:
    """Return the address from which a page imports a JavaScript module."""
    return prefix_base_path(f"vendor/{MODULES_DIGEST}/{name}")


def format_preload_links(name: str) -> str:
    """Format the HTML that makes a browser fetch a module and all its imports in parallel."""
    return "".join(f'<link rel="modulepreload" href="{get_module_url(each)}">' for each in find_imports(name))


def create_routes() -> list[Route]:
    """Create the web routes of plotly.js and the modules, below the base path of the app.

    Call it when the app is created: Streamlit's settings, also from its command line, are known only then.
    """
    return [
        Route(get_plotly_url(), serve_plotly),
        Route(get_saved_page_url(), serve_saved_page_template),
        Route(prefix_base_path("vendor/{digest}/{name}"), serve_module),
    ]


def prefix_base_path(path: str) -> str:
    """Return a path of the app with the server's base path in front."""
    return "/" + f"{st.get_option('server.baseUrlPath').strip('/')}/{path}".lstrip("/")
