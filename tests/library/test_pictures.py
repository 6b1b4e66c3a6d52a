"""Pictures of a normalization outside of the app: in a notebook, and as a web page that loads nothing."""

import re
import sys
from dataclasses import replace
from html import unescape

import numpy as np
import pytest
from browsing import browser
from PIL import Image

import normviz
from normviz.charts.packing import pack_message
from normviz.charts.palette import THEMES
from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.web import plotly_script
from normviz.web.modules import MODULE_SOURCES, bundle_modules

X = np.random.default_rng(0).normal(size=(4, 6, 4, 4))
DRAWN = ".nv-plot[data-drawn]:not([data-drawing])"


@pytest.fixture(scope="module")
def picture():
    return normviz.show(X, "group", groups=3, layout="NCHW")


def test_a_notebook_gets_a_frame_with_the_page(picture):
    found = re.fullmatch(r'<iframe title="([^"]*)" srcdoc="([^"]*)" [^<>]*></iframe>', picture._repr_html_())
    assert unescape(found[1]) == picture.title == "Group normalization with G = 3, N × H × W × C = 4 × 4 × 4 × 6"
    assert unescape(found[2]) == picture.html


def test_the_page_refers_to_no_other_file(picture):
    style = re.search(r"<style>.*?</style>", picture.html, re.DOTALL)[0]
    assert not re.findall(r"@import|\burl\(", style)
    assert not re.findall(r"<(?:link|img|iframe|script[^>]* src)", picture.html)
    assert set(re.findall(r"https?://[^\"'\s<>)`]+", picture.html)) <= {"http://www.w3.org/2000/svg"}  # a name
    assert "default-src 'none'" in picture.html


def test_a_name_of_ones_own_is_escaped():
    scheme = replace(normviz.custom(suppression="C"), name='<b>"mine"</b>')
    picture = normviz.show(X, scheme, layout="NCHW")
    assert "<b>" not in picture._repr_html_()
    assert "&lt;b&gt;&quot;mine&quot;" in picture._repr_html_().partition("srcdoc")[0]
    assert '"mine"' not in picture.html  # it is in the message, and becomes text


def test_what_cannot_be_drawn_is_told_in_one_line(monkeypatch):
    with pytest.raises(normviz.InvalidInput, match=r"more than the 65,536 that are drawn; .* fits\.$"):
        normviz.show(np.zeros((MAX_DRAWN_ELEMENTS + 1, 1)), "batch")
    with pytest.raises(normviz.InvalidInput, match=r"'red' is not a colouring; field, .* are\."):
        normviz.show(X, "batch", layout="NCHW", colour="red")
    with pytest.raises(normviz.InvalidInput, match=r"focus \(4, 0, 0, 0\) is not an element of 4 × 4 × 4 × 6\."):
        normviz.show(X, "batch", layout="NCHW", focus=(4, 0, 0, 0))
    monkeypatch.setattr(plotly_script, "find_spec", lambda name: None)
    plotly_script.read_plotly_script.cache_clear()
    with pytest.raises(normviz.InvalidInput, match=r"^a picture needs plotly; .* pip install 'normviz\[show\]'$"):
        normviz.show(X, "batch", layout="NCHW")


def test_a_png_without_the_exporter_says_what_to_install(picture, monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "kaleido", None)
    with pytest.raises(normviz.InvalidInput, match=r"^a PNG needs kaleido, .*: pip install kaleido$"):
        picture.to_png(tmp_path / "cube.png")


def test_a_png_is_drawn_by_the_exporter(picture, tmp_path):
    pytest.importorskip("kaleido")
    picture.to_png(tmp_path / "cube.png", 450, 400)
    with Image.open(tmp_path / "cube.png") as image:
        assert image.width > 700


def test_other_arrays_are_drawn_as_well():
    import torch

    x = torch.from_numpy(X).half().requires_grad_()
    assert repr(normviz.show(x, "batch", layout="NCHW")) == repr(normviz.show(X, "batch", layout="NCHW"))


def test_the_scripts_are_joined_in_the_order_of_their_imports():
    script = bundle_modules("web_page.js")
    assert not re.findall(r"^(?:import|export) ", script, re.MULTILINE)
    assert script.index("const dom_js =") < script.index("const plot_js =") < script.index("const web_page_js =")


def test_a_circle_of_imports_is_told(monkeypatch):
    for one, other in ("ab", "ba"):
        monkeypatch.setitem(MODULE_SOURCES, f"{one}.js", f'import {{ x }} from "./{other}.js";\n'.encode())
    with pytest.raises(ValueError, match=r"a\.js > b\.js > a\.js"):
        bundle_modules("a.js")


def test_equal_arrays_are_sent_once():
    once = len(pack_message([X.ravel()]))
    assert len(pack_message([X.ravel(), X.ravel().copy()])) < 1.1 * once


@pytest.fixture(scope="module")
def opened(picture, tmp_path_factory):
    """The saved page in a browser without a network, the addresses that it asked for, and its errors."""
    path = tmp_path_factory.mktemp("page") / "cube.html"
    picture.to_html(path)
    with browser() as chromium:
        context = chromium.new_context(viewport={"width": 900, "height": 640}, offline=True)
        page, asked, errors = context.new_page(), [], []
        page.on("request", lambda request: asked.append(request.url))
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.goto(path.as_uri())
        page.wait_for_selector(DRAWN)
        yield page, asked, errors
        assert asked == [path.as_uri()]
        assert errors == []


def test_the_saved_page_shows_the_element_under_the_pointer(opened, picture):
    page, *_ = opened
    assert page.title() == page.locator("h1").inner_text() == picture.title
    assert page.locator(".nv-readout").inner_text().startswith("n = 0  h = 0  w = 0  c = 0    x = 0.1257")
    box = page.locator(".nv-graph").bounding_box()
    page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
    page.wait_for_selector(".nv-plot[data-by=pointer]", state="attached")
    index = [int(each) for each in re.findall(r"[nhwc] = (\d)", page.locator(".nv-readout").inner_text())]
    value = normviz.normalize(X, "group", groups=3, layout="NCHW").xhat[index[0], index[3], index[1], index[2]]
    assert page.locator(".nv-readout").inner_text().endswith(f"= {value:.4g}".replace("-", "−"))
    page.mouse.down()
    page.mouse.up()
    page.mouse.move(0, 0)
    page.wait_for_selector(".nv-plot[data-by=lock]", state="attached")
    locked = page.locator(".nv-readout").inner_text()
    assert [int(each) for each in re.findall(r"[nhwc] = (\d)", locked)] == index


def test_the_saved_page_plays_the_collapse(opened):
    page, *_ = opened
    page.get_by_role("button", name="Watch it happen").click()
    page.get_by_role("button", name="Pause").click()
    page.get_by_role("slider", name="Stage").fill("1")
    page.get_by_text("2 / 8").wait_for()
    assert page.evaluate("Math.max(...document.querySelector('.nv-graph').data[0].z)") < 16  # h and w came together
    assert "H 4 → 1" in page.locator(".nv-board").inner_text()
    page.get_by_role("button", name="Close").click()


def test_the_saved_page_follows_the_theme(opened):
    page, *_ = opened
    colours = []
    for theme in ("dark", "light"):
        page.emulate_media(color_scheme=theme)
        hue = f"background:{THEMES[theme].field}"
        page.wait_for_selector(f".nv-legend i[style='{hue}']")
        colours.append(page.evaluate("getComputedStyle(document.body).backgroundColor"))
    assert colours == ["rgb(20, 24, 29)", "rgb(255, 255, 255)"]


def test_show_imports_neither_streamlit_nor_plotly_nor_torch():
    import subprocess

    script = "import sys, normviz; normviz.show; print({'streamlit', 'plotly', 'torch', 'jinja2'} & set(sys.modules))"
    assert subprocess.run([sys.executable, "-c", script], capture_output=True, text=True).stdout == "set()\n"
