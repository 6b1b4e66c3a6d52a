"""The Share dialog: on every page the link, its QR code and the frame for a course site."""

from html import unescape
from urllib.parse import urlsplit

import pytest
from lab_page import plots, sound
from streamlit.testing.v1 import AppTest
from wandering import ROOT, STATES

from normviz.export.pages import format_page_script, read_page_view
from normviz.export.panels import SECTION_TITLE, draw_take_home_section
from normviz.export.project import format_citation
from normviz.export.script import TEXT_MARK
from normviz.ui.share_dialog import SECTIONS, SHARING_KEY, format_frame
from normviz.web.qr_code import make_qr_code


def share(page, **link):
    """A page with its dialog open."""
    at = AppTest.from_file(ROOT / "app.py", default_timeout=600).switch_page(f"pages/{page}.py")
    at.query_params.update(link)
    at.session_state[SHARING_KEY] = True
    return sound(at.run())


@pytest.mark.parametrize("page", STATES)
def test_every_page_is_shared_by_its_link_and_taken_home(page, monkeypatch):
    monkeypatch.setitem(SECTIONS, SECTION_TITLE, draw_take_home_section)  # as app.py does
    at = share(page, present="1")
    texts = {key: shown["text"] for key, shown in plots(at).items() if key.startswith("share ")}
    assert texts["share link"].endswith("?present=1")
    assert "?present=1&amp;embed=true" in texts["share frame"]
    assert len(at.get("image")) >= 1
    assert SHARING_KEY not in at.session_state
    assert texts["share citation"] == format_citation()
    assert {"Notebook", "Script"} <= {each.label for each in at.get("download_button")}
    scripts = [code.value for code in at.get("code") if code.value.startswith(TEXT_MARK)]
    assert scripts == [format_page_script(*read_page_view(f"/{page if page != 'tensor_lab' else ''}")).strip()]


def test_a_page_without_numbers_has_the_citation_alone(monkeypatch):
    monkeypatch.setitem(SECTIONS, SECTION_TITLE, draw_take_home_section)
    at = share("lessons")
    assert "share citation" in plots(at)
    assert not {"Notebook", "Script"} & {each.label for each in at.get("download_button")}


def test_a_frame_holds_no_markup_of_a_link():
    frame = format_frame("https://example.org/", {"data": "\"'><script>&"})
    assert frame.count("<") == 2
    assert frame.count('"') == 10
    source = frame.split('"')[1]
    assert urlsplit(unescape(source)).query == "data=%22%27%3E%3Cscript%3E%26&embed=true"


def test_a_qr_code_is_vector_graphics_and_a_text_too_long_for_one_has_none():
    assert make_qr_code("https://example.org/").startswith("<svg")
    assert make_qr_code("a" * 3000) is None
