"""Text of strangers in a browser: Streamlit's own page reads it escaped, and every page opens with a hostile link."""

from urllib.parse import urlencode, urlsplit

import pytest
from browsing import served
from pairs import mark_heavy_except
from patience import settle, visit
from wandering import STATES, TYPED
from watching import watched

from normviz.describe.markdown import WORD_JOINER

PICTURE = "![](http://127.0.0.2:9/t.png)"
HOSTILE = (
    PICTURE, "[log in](http://127.0.0.2:9)", "http://foreign.example/a", "<http://foreign.example>",
    "www.foreign.example", "WWW.foreign.example/x", "me@foreign.example", "mailto:me@foreign.example",
    "<img src=http://127.0.0.2:9/t.png>", "<b>bold</b>", "**bold** _it_ ~~no~~ `code`", ":red[x]",
    ":red-background[x]", ":material/home:", ":material_home:", ":smile: :+1:", ":streamlit:", "$x^2$", "$$x$$",
    "&amp; &#60;b&#62;", "a -> b -- c <- d <= e >= f ~= g <-> h", "# head", "- item", "1. item", "> quote", "---",
    "[x]: http://foreign.example", "| a | b |", r"\[a\](b)", "a\\", ":::note", "::leaf[x]", "[^1]", ":small[x]",
    ":help[x]", ":color[x]{foreground=red}",
)  # fmt: skip
"""What Markdown, or what Streamlit adds to it, would make something of."""

LIGHT = ("tensor_lab", "invariance", "experiments")
"""The pages of `make test`; tests/ui/test_hostile_links.py has all, without a browser."""

SCRIPT = """
import streamlit as st
from normviz.describe.markdown import escape_markdown
from normviz.ui.frame import show_error
for k, text in enumerate({texts!r}):
    with st.container(key=f"text-{{k}}"):
        st.markdown(escape_markdown(text))
        st.markdown(f"Scheme: {{escape_markdown(text)}} is not one of the choices.")
        st.caption(escape_markdown(text))
        show_error(text)
        st.button(escape_markdown(text), key=f"button {{k}}")
"""

MARKUP = (
    "a, img, em, strong, del, code, pre, ul, ol, blockquote, h1, h2, h3, hr, table, b, .katex, [role=img], span[style]"
)


@pytest.fixture(scope="module")
def shown(tmp_path_factory):
    """A server of a page that shows the hostile texts."""
    script = tmp_path_factory.mktemp("escaping") / "texts.py"
    script.write_text(SCRIPT.format(texts=HOSTILE))
    with served(str(script)) as url:
        yield url


def test_streamlit_shows_escaped_text_as_it_is(context, shown):
    with watched(context) as page:
        visit(page, shown)
        page.wait_for_selector(f".st-key-text-{len(HOSTILE) - 1} button")
        found = page.evaluate(
            f"""count => [...Array(count).keys()].map(k => document.querySelector(`.st-key-text-${{k}}`)).map(box => [
                [...box.querySelectorAll('[data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]')]
                    .map(each => each.textContent),
                [...box.querySelectorAll('[data-testid=stMarkdownContainer], [data-testid=stCaptionContainer]')]
                    .flatMap(each => [...each.querySelectorAll({MARKUP!r})]).map(each => each.outerHTML)])""",
            len(HOSTILE),
        )
    for text, (texts, markup) in zip(HOSTILE, found, strict=True):
        assert markup == [], text
        read = [each.replace(WORD_JOINER, "").strip() for each in texts]
        note = f"Scheme: {text} is not one of the choices."
        assert read == [text, note, text, text, text], text


FOREIGN = """host => [document, ...[...document.querySelectorAll('*')].map(each => each.shadowRoot).filter(Boolean)]
    .flatMap(root => [...root.querySelectorAll('a, img, iframe, script, link, source, form')])
    .map(each => each.href?.baseVal ?? each.href ?? each.src ?? each.action)
    .filter(url => URL.canParse(url) && new URL(url).host === host)"""


@pytest.mark.parametrize("names", mark_heavy_except([LIGHT], [LIGHT, tuple(STATES)]), ids=len)
def test_no_page_takes_a_link_for_markup(server, context, names):
    """Nor does any ask the host that is in the link: `watched` fails where one does."""
    with watched(context) as page:
        for name in names:
            state = STATES[name]
            own = [param.name for param in state.PARAMS] + ["schme", PICTURE]
            link = dict.fromkeys(own, PICTURE) | TYPED.get(name, {})
            visit(page, f"{server}/{name if name != 'tensor_lab' else ''}?{urlencode(link)}")
            page.wait_for_selector(".st-key-replaced p")
            settle(page)
            assert "![](http" in page.locator(".st-key-replaced").inner_text().replace(WORD_JOINER, ""), name
            assert page.evaluate(FOREIGN, urlsplit("http://127.0.0.2:9").netloc) == [], name
