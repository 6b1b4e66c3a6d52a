"""Scripts that a browser fetches once: plotly.js, compressed once, and the modules of normviz/web.

The version, or a digest, is in the address, so that a browser may keep them for good.
"""

import gzip
from functools import cache
from importlib.resources import files

import plotly
import streamlit as st
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from normviz.web.modules import MODULE_SOURCES, MODULES_DIGEST, find_imports

IMMUTABLE_HEADERS = {"Cache-Control": "public, max-age=31536000, immutable"}


@cache
def _plotly_js(compressed: bool) -> bytes:
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return gzip.compress(script, mtime=0) if compressed else script


def serve_plotly(request: Request) -> Response:
    """plotly.js from the installed package."""
    compressed = "gzip" in request.headers.get("accept-encoding", "")
    headers = IMMUTABLE_HEADERS | {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if compressed else {})
    return Response(_plotly_js(compressed), media_type="text/javascript", headers=headers)


def serve_module(request: Request) -> Response:
    """Return a module below the digest of today's modules; 404 for another digest or name."""
    name = request.path_params["name"]
    if name not in MODULE_SOURCES or request.path_params["digest"] != MODULES_DIGEST:
        return Response("no such script", 404)
    return Response(MODULE_SOURCES[name], media_type="text/javascript", headers=IMMUTABLE_HEADERS)


def get_plotly_url() -> str:
    """Where a page finds plotly.js.

    A page asks for it with its first figure. A preload link in the page itself gains nothing before the first cube, and
    costs 1.3 s before the page is seen at all, since the browser is busy with the script.
    """
    return _below_base(f"vendor/plotly-{plotly.__version__}.min.js")


def get_module_url(name: str) -> str:
    """Return the address at which a page imports the module of this file name."""
    return _below_base(f"vendor/{MODULES_DIGEST}/{name}")


def format_preload_links(name: str) -> str:
    """Return the HTML that lets a browser fetch a module with all that it imports at once, not one behind the other."""
    return "".join(f'<link rel="modulepreload" href="{get_module_url(each)}">' for each in find_imports(name))


def create_routes() -> list[Route]:
    """Return the routes of these scripts, below the path that the app is served at.

    Call it when the app is made: Streamlit knows its settings by then, also those of its command line.
    """
    return [Route(get_plotly_url(), serve_plotly), Route(_below_base("vendor/{digest}/{name}"), serve_module)]


def _below_base(path: str) -> str:
    """Return the absolute path of an address of the server, below the path that the app is served at."""
    return "/" + f"{st.get_option('server.baseUrlPath').strip('/')}/{path}".lstrip("/")
