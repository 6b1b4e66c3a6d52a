"""The script plotly.js of the installed package plotly, which is not imported: a figure is plain data."""

from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

from normviz.core.errors import InvalidInput


@cache
def get_plotly_version() -> str:
    """Return the version of the installed package plotly; its metadata take a millisecond to parse."""
    return version("plotly")


@cache
def read_plotly_script() -> bytes:
    """Return the plotly.js that the installed plotly package holds. Raises InvalidInput if it is not installed."""
    found = find_spec("plotly")
    if found is None or not found.submodule_search_locations:
        raise InvalidInput("a picture needs plotly; install it with: pip install 'normviz[show]'")
    return Path(found.submodule_search_locations[0], "package_data", "plotly.min.js").read_bytes()
