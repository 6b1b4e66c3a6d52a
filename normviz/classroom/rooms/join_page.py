"""The page that students open on their phones, without a session of Streamlit."""

import json
from functools import cache
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from normviz.classroom.words import JOIN_WORDS
from normviz.web.modules import read_styles
from normviz.web.script_routes import format_preload_links, get_module_url, prefix_base_path

TEMPLATE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title} · normviz</title>
<link rel="icon" href="data:,">
{preloads}
<style>{style}</style>
</head>
<body>
<main>
<header><span>normviz</span><span id="code"></span></header>
<noscript><p>{no-script}</p></noscript>
<p id="notice" role="status" hidden></p>
<form id="enter" hidden>
<label for="typed">{code-label}</label>
<input id="typed" autocomplete="off" autocapitalize="characters" spellcheck="false" maxlength="20">
<button>{join}</button>
</form>
<section id="question" hidden>
<h1 id="asked"></h1>
<p id="details"></p>
<div id="answers" role="group" aria-labelledby="asked details"></div>
<p id="said" role="status"></p>
<p id="why"></p>
</section>
<section id="pace" hidden>
<h2>{step-heading}</h2>
<p id="pace-said" role="status"></p>
<button type="button" id="show-step">{show-step}</button>
<a class="button" id="open-step" target="_blank">{open-step}</a>
<iframe id="step" title="{step-title}" hidden></iframe>
<button type="button" id="send-seen" hidden>{send-seen}</button>
</section>
<details id="snapshot" hidden>
<summary>{snapshot}</summary>
<form>
<label for="link">{snapshot-label}</label>
<input id="link" inputmode="url" autocomplete="off" maxlength="2000">
<button>{send}</button>
</form>
</details>
<p id="sent" role="status"></p>
<p class="quiet">{privacy}</p>
</main>
<script type="application/json" id="page-data">{data}</script>
<script type="module" src="{script}"></script>
</body>
</html>
"""
"""The page; names in braces are words of `JOIN_WORDS`, besides title, style and script."""


@cache
def build_join_page() -> str:
    """Build the page; it is the same for every class, and its script reads the code from the address."""
    data = json.dumps({"base": prefix_base_path(""), "words": JOIN_WORDS}).replace("<", "\\u003c")
    preloads = format_preload_links("join.js")
    words = {name: escape(text) for name, text in JOIN_WORDS.items()}
    return TEMPLATE.format_map(
        words
        | {"preloads": preloads, "style": read_styles(["join"]), "data": data, "script": get_module_url("join.js")}
    )


def serve_join_page(request: Request) -> Response:
    """Serve the page of a class."""
    return HTMLResponse(build_join_page(), headers={"Cache-Control": "no-cache"})
