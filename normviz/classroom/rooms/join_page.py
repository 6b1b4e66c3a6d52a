"""The page that students open on their phones, without a session of Streamlit."""

import json
from functools import cache
from html import escape

from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

from normviz.describe.interface_words import LANGUAGES, get_words
from normviz.ui.link import LANGUAGE_PARAM, clean_values
from normviz.web.modules import read_styles
from normviz.web.script_routes import format_preload_links, get_module_url, prefix_base_path

TEMPLATE = """<!doctype html>
<html lang="{language}">
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
<p id="language-note" role="status" hidden></p>
<form id="enter" hidden>
<h1><label for="typed">{code-label}</label></h1>
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
<p class="quiet" id="languages">{languages}</p>
</main>
<script type="application/json" id="page-data">{data}</script>
<script type="module" src="{script}"></script>
</body>
</html>
"""
"""The page; names in braces are its words, besides those that `build_join_page` fills in."""


@cache
def build_join_page(language: str) -> str:
    """Return the students' page as HTML, the same for every class: its script reads the code from the URL."""
    words = get_words("join", language)
    data = json.dumps({"base": prefix_base_path(""), "words": words}).replace("<", "\\u003c")
    others = (
        f'<a href="?{LANGUAGE_PARAM.name}={key}" lang="{key}" hreflang="{key}">{name}</a>'
        for key, name in LANGUAGES.items()
        if key != language
    )
    filled = {
        "language": language, "preloads": format_preload_links("join.js"), "style": read_styles(["join"]),
        "data": data, "script": get_module_url("join.js"), "languages": " · ".join(others),
    }  # fmt: skip
    return TEMPLATE.format_map({name: escape(text) for name, text in words.items()} | filled)


def serve_join_page(request: Request) -> Response:
    """Return the response with the students' page, in the language that the URL names."""
    view, _ = clean_values([LANGUAGE_PARAM], request.query_params)  # its script reports an unknown one
    return HTMLResponse(build_join_page(view[LANGUAGE_PARAM.name]), headers={"Cache-Control": "no-cache"})
