"""A web page of its own for one cube: a single file that holds plotly.js, our scripts and styles, and loads nothing.

The same page is saved in the app, by saved_page.js, and from Python.
"""

import gzip
import json
from base64 import b64encode
from collections.abc import Mapping
from functools import cache
from typing import Any

from normviz.charts.packing import pack_message
from normviz.web.modules import bundle_modules, read_styles
from normviz.web.plot_message import PLOT_HTML, PLOT_STYLES
from normviz.web.plotly_script import read_plotly_script

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src 'unsafe-inline'; \
style-src 'unsafe-inline'; img-src data: blob:">
<title>normviz</title>
<style>{styles}</style>
<script type="text/plain" id="nv-message">[message]</script>
<script type="application/json" id="nv-state">[state]</script>
<script type="text/plain" id="nv-library">{library}</script>
</head>
<body>
<h1></h1>
{markup}
<script type="module">
{script}</script>
</body>
</html>
"""
"""The page with the places of its parts. Its policy forbids every request; plotly.js is compressed."""


@cache
def build_page_template() -> str:
    """Return the HTML of a saved figure's page, with [message] and [state] in place of the figure's message and state.

    Raises InvalidInput if plotly is not installed.
    """
    return TEMPLATE.format(
        styles=read_styles(("web_page", *PLOT_STYLES)),
        library=b64encode(gzip.compress(read_plotly_script(), mtime=0)).decode(),
        markup=PLOT_HTML,
        script=bundle_modules("web_page.js"),
    )


def build_web_page(messages: Mapping[str, Mapping[str, Any]]) -> str:
    """Return the HTML of a page that shows a figure, from its plot messages by theme.

    `messages`: results of `build_plot_message` by theme, "light" and "dark"; the page shows the browser's theme. Raises
    InvalidInput if plotly is not installed.
    """
    message = b64encode(pack_message(messages)).decode()
    return build_page_template().replace("[message]", message, 1).replace("[state]", json.dumps({}), 1)
