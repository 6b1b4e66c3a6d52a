"""A class opens its link on a server that has just started: thirty at once, and nobody sees an error."""

from itertools import cycle, islice

import pytest
from browsing import served
from visitors import PAGES, all_at_once

CLASS = 30


@pytest.mark.parametrize("pages", [[""], PAGES], ids=["one page", "every page"])
def test_thirty_at_once_on_a_server_just_started(pages):
    with served("app.py") as url:
        visits = all_at_once(url, list(islice(cycle(pages), CLASS)))
    assert [error for visit in visits for error in visit.errors] == []
    assert all(visit.elements > 10 for visit in visits)


def test_an_error_on_a_page_is_seen(tmp_path):
    (tmp_path / "broken.py").write_text("import streamlit as st\n\nst.write('before')\nraise ValueError('after')\n")
    with served(str(tmp_path / "broken.py")) as url:
        [visit] = all_at_once(url, [""])
    assert len(visit.errors) == 1
