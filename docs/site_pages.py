"""Hooks of MkDocs: texts from elsewhere in the repository, links that lead out of docs/, and live cubes.

A page with `source: CONTRIBUTING.md` in its head shows that file. Links are relative to a file in the repository, as on
GitHub. On the site, a link to a file that has no page leads to the repository. Under a picture `gallery-KEY.webp`
stands the cube of the scheme, which turns and plays.
"""

import posixpath
import re
from pathlib import Path
from shutil import copyfile
from typing import Any

import numpy as np

import normviz

ROOT = Path(__file__).parents[1]
LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)\s#]+)")
PICTURE = re.compile(r'<p><img alt="([^"]*)" src="([^"]*)gallery-([\w-]+)\.webp" /></p>')
CUBE = (
    r"\g<0><details><summary>Turn and play this cube</summary>"
    r'<iframe title="\1" src="\2cubes/\3.html" loading="lazy" class="cube"></iframe></details>'
)


def on_page_markdown(markdown: str, page: Any, config: Any, files: Any) -> str:
    """Return the text of a page, with links that hold on the site."""
    pages = {f"docs/{file.src_uri}": file.src_uri for file in files}
    pages |= {source: file.src_uri for file in files if (source := read_source(Path(ROOT, "docs", file.src_uri)))}
    path = page.meta.get("source", f"docs/{page.file.src_uri}")
    if "source" in page.meta:
        markdown = Path(ROOT, path).read_text()
    return rebase_links(markdown, path, page.file.src_uri, pages, config["extra"]["social"][0]["link"])


def on_page_content(html: str, **_: Any) -> str:
    """Return the HTML of a page with a cube under each picture of a scheme; it loads when it is opened."""
    return PICTURE.sub(CUBE, html)


def on_post_build(config: Any) -> None:
    """Write the cubes of the gallery, and give the site the icon of the app."""
    site = Path(config["site_dir"])
    copyfile(ROOT / "normviz/ui/icon.png", site / "assets/images/favicon.png")
    (site / "cubes").mkdir(exist_ok=True)
    x = np.random.default_rng(0).normal(size=(4, 4, 4, 6))
    for key in (path.stem.removeprefix("gallery-") for path in Path(ROOT, "docs").glob("gallery-*.webp")):
        normviz.show(x, key, layout="NHWC", colour="statistic").to_html(site / "cubes" / f"{key}.html")


def read_source(path: Path) -> str | None:
    """Return the file of the repository that a page shows in place of its own text, or None."""
    head = re.match(r"---\nsource: (\S+)\n---\n", path.read_text()) if path.suffix == ".md" else None
    return head and head[1]


def rebase_links(text: str, path: str, page: str, pages: dict[str, str], repository: str) -> str:
    """Return a text of the repository with its links as a page of the site has them.

    `pages`: the page or file of the site for each path in the repository. Other paths lead to `repository`. Paths
    that do not exist stay, so that MkDocs reports them.

    >>> rebase_links("[a](docs/a.md#b), [c](LICENSE)", "README.md", "index.md", {"docs/a.md": "a.md"}, "//host")
    '[a](a.md#b), [c](//host/blob/main/LICENSE)'
    """

    def rebase(match: re.Match[str]) -> str:
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), match[2]))
        if target in pages:
            return match[1] + posixpath.relpath(pages[target], posixpath.dirname(page) or ".")
        return f"{match[1]}{repository}/blob/main/{target}" if Path(ROOT, target).exists() else match[0]

    return LINK.sub(rebase, text)
