"""Routes of the scripts that a browser fetches once: plotly.js and the modules of normviz/web.

The version or a digest is in the address, so that a browser may cache them forever.
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
def _read_plotly_script(compressed: bool) -> bytes:
    script = files("plotly").joinpath("package_data", "plotly.min.js").read_bytes()
    return gzip.compress(script, mtime=0) if compressed else script


def serve_plotly(request: Request) -> Response:
    """Serve plotly.js of the installed package, compressed if the browser accepts it."""
    compressed = "gzip" in request.headers.get("accept-encoding", "")
    headers = IMMUTABLE_HEADERS | {"Vary": "Accept-Encoding"} | ({"Content-Encoding": "gzip"} if compressed else {})
    return Response(_read_plotly_script(compressed), media_type="text/javascript", headers=headers)


def serve_module(request: Request) -> Response:
    """Serve a JavaScript module at the address with its current digest; 404 for any other address."""
    name = request.path_params["name"]
    if name not in MODULE_SOURCES or request.path_params["digest"] != MODULES_DIGEST:
        return Response("no such script", 404)
    return Response(MODULE_SOURCES[name], media_type="text/javascript", headers=IMMUTABLE_HEADERS)


def get_plotly_url() -> str:
    """Return the address of plotly.js.

    A page requests it with its first figure. A preload link gains nothing before the first cube and delays the page by
    1.3 s, because the browser is busy with the script.
    """
    return _prefix_base_path(f"vendor/plotly-{plotly.__version__}.min.js")


def get_module_url(name: str) -> str:
    """Return the address from which a page imports a JavaScript module."""
    return _prefix_base_path(f"vendor/{MODULES_DIGEST}/{name}")


def format_preload_links(name: str) -> str:
    """Format the HTML that makes a browser fetch a module and all its imports in parallel."""
    return "".join(f'<link rel="modulepreload" href="{get_module_url(each)}">' for each in find_imports(name))


def create_routes() -> list[Route]:
    """Create the web routes of plotly.js and the modules, below the base path of the app.

    Call it when the app is created: Streamlit's settings, also from its command line, are known only then.
    """
    return [Route(get_plotly_url(), serve_plotly), Route(_prefix_base_path("vendor/{digest}/{name}"), serve_module)]


def _prefix_base_path(path: str) -> str:
    """Return an address below the base path of the app."""
    return "/" + f"{st.get_option('server.baseUrlPath').strip('/')}/{path}".lstrip("/")
