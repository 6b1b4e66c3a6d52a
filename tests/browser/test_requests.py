"""No page asks for anything from another host: a class without internet sees all, and nobody is told who looks."""

from pathlib import Path
from urllib.parse import urlsplit

import pytest
from browsing import ROOT
from patience import LIMIT, settle

PAGES = sorted(path.stem for path in Path(ROOT, "pages").glob("*.py"))


@pytest.mark.parametrize("name", PAGES)
def test_a_page_asks_its_own_host_alone(server, context, name):
    page = context.new_page()
    page.set_default_timeout(LIMIT)
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    page.goto(f"{server}/{'' if name == 'tensor_lab' else name}")
    page.get_by_role("heading").first.wait_for()
    settle(page)
    icons = page.locator("link[rel~=icon]").evaluate_all("links => links.map(link => link.href)")
    page.close()
    hosts = {urlsplit(url).netloc for url in [*asked, *icons] if url.startswith(("http", "ws"))}
    assert hosts == {urlsplit(server).netloc}
