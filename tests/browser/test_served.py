"""Served as a course site does it: below a path, to a network, in a frame; and what every server answers with."""

import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from urllib.error import HTTPError, URLError
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from urllib.request import Request, urlopen

import pytest
import visitors
from browsing import serving
from patience import CONNECTED, LIMIT, settle, soon
from playwright.sync_api import expect
from watching import POLICY

from normviz.ui.security import FRAME_ANCESTORS_VARIABLE, METRICS_VARIABLE
from normviz.ui.server import SECURITY_HEADERS
from normviz.web.script_routes import get_module_url, get_plotly_url

BASE = "/course/norm"
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no 127.0.0.2")


@pytest.fixture(scope="module")
def below():
    """A server below a path, on all networks, which a course site embeds and which shows its metrics."""
    command = [sys.executable, "-m", "normviz", "serve", "--address", "0.0.0.0", "--port"]
    settings = {
        "STREAMLIT_SERVER_BASE_URL_PATH": BASE.strip("/"),
        FRAME_ANCESTORS_VARIABLE: "http://localhost:*",
        METRICS_VARIABLE: "1",
    }
    with serving(command, path=BASE, environment=settings) as url:
        yield url


def answer(url, method="GET", accept="*/*"):
    """The status and the headers of a response."""
    try:
        with urlopen(Request(url, method=method, headers={"Accept": accept}), timeout=20) as response:
            return response.status, response.headers
    except HTTPError as error:
        return error.status, error.headers


@pytest.mark.parametrize(
    ("path", "method", "status"),
    [
        ("/", "GET", 200),
        ("/", "HEAD", 200),
        ("/invariance", "GET", 200),
        ("/favicon.png", "GET", 200),
        ("/static/nothing.js", "GET", 200),  # Streamlit answers with its page
        (get_plotly_url(), "GET", 200),
        (get_module_url("plot.js"), "GET", 200),
        (get_module_url("plot.js"), "POST", 405),
        ("/vendor/0/plot.js", "GET", 404),
        ("/media/nothing.png", "GET", 404),
        ("//nothing", "GET", 400),
        ("/_stcore/health", "GET", 200),
        ("/_stcore/host-config", "GET", 200),
        ("/_stcore/agent/nothing", "GET", 404),
        ("/_stcore/upload_file/a/b", "PUT", 403),
        ("/_stcore/metrics", "GET", 404),
        ("/_stcore/metrics?families=cache_memory_bytes", "OPTIONS", 404),
    ],
)
def test_every_response_carries_the_headers(server, path, method, status):
    for accept in ("*/*", "text/html"):
        found, headers = answer(server + path, method, accept)
        assert found == status
        assert {name: headers.get_all(name) for name in SECURITY_HEADERS} == {
            name: [text] for name, text in SECURITY_HEADERS.items()
        }


def test_metrics_are_open_where_the_setting_asks_for_them(below):
    assert answer(f"{below}/_stcore/metrics")[0] == 200


@LINUX
def test_a_server_listens_on_this_machine_alone_unless_it_is_given_an_address(server, below):
    def elsewhere(url):
        return url.replace("127.0.0.1", "127.0.0.2") + "/_stcore/health"

    with pytest.raises(URLError, match="refused"):
        urlopen(elsewhere(server), timeout=20)
    assert answer(elsewhere(below))[0] == 200
    assert answer(below.replace("127.0.0.1", "localhost") + "/_stcore/health")[0] == 200
    assert answer(server.replace("127.0.0.1", "localhost") + "/_stcore/health")[0] == 200


@pytest.mark.heavy  # every test in a browser fails where its page breaks the policy
@pytest.mark.parametrize("name", visitors.PAGES)
def test_no_page_needs_what_its_policy_forbids(page, server, name):
    page.goto(f"{server}/{name}")  # the page is watched
    expect(page.locator(CONNECTED)).to_be_visible()
    settle(page)


@pytest.fixture
def course(page):
    """A page on which every request is answered, apart from those by which Streamlit looks for its path.

    On a page other than the default one Streamlit first takes the page's own address for the path.
    """
    missing = []
    page.on("response", lambda response: missing.append(response.url) if response.status >= 400 else None)
    yield page
    tried = ("_stcore/health", "_stcore/host-config")
    assert [url for url in missing if not urlsplit(url).path.removeprefix(f"{BASE}/").endswith(tried)] == []


def test_the_lab_below_a_path_has_its_cube_its_icon_and_a_next_page(course, below):
    course.goto(f"{below}/?n=2&h=2&w=2&c=3")
    course.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")
    settle(course)
    icons = course.locator("link[rel~=icon]").evaluate_all("links => links.map(link => link.href)")
    assert all(icon.startswith(f"{below}/") for icon in icons)
    assert [answer(icon)[1]["content-type"] for icon in icons] == ["image/png"]
    course.locator(".st-key-takeaway").get_by_role("link", name="Next").click()
    course.wait_for_url(f"{below}/compare**")
    course.wait_for_selector(".nv-plot[data-drawn]")
    course.get_by_role("button", name="Share", exact=True).click()
    expect(course.get_by_role("textbox", name="Link")).to_have_value(re.compile(f"^{below}/compare"))
    course.get_by_role("button", name="Close", exact=True).click()
    settle(course)
    course.go_back()
    course.wait_for_url(f"{below}/?**")
    course.wait_for_selector(".st-key-cube .nv-plot[data-drawn]")


def test_table_1_below_a_path_trains_in_its_component(course, below):
    course.goto(f"{below}/invariance?steps=10")
    expect(course.locator(".nv-grid [data-cell]")).to_have_count(24)
    course.locator('.nv-grid [data-cell="layer.weight-matrix-recentering"]').click()
    course.get_by_role("heading", name=re.compile(r"^Layer norm, .*pattern")).wait_for()
    course.get_by_role("button", name="= Yes, the same").click()
    course.wait_for_selector(".st-key-curves .nv-twins[data-drawn]")
    settle(course)


def test_a_file_is_uploaded_below_a_path(course, below):
    course.goto(f"{below}/identities?panel=detect&try=own")
    settle(course)
    file = {"name": "bad.npz", "mimeType": "application/octet-stream", "buffer": b"nothing"}
    course.locator("input[type=file]").set_input_files(files=[file])
    expect(course.get_by_text("not a .npz file")).to_be_visible()


def test_the_path_itself_leads_to_the_app(course, below):
    course.goto(below)
    expect(course.locator(CONNECTED)).to_be_visible()
    settle(course)
    expect(course.locator(".st-key-cube")).to_be_visible()


HEARING = "<script>window.heard = []; addEventListener('message', ({ data }) => heard.push(data))</script>"
"""What a page needs to hear of its frame."""


@pytest.fixture(scope="module")
def course_site():
    """The address of a course site, which shows in a frame what its query names; another site than 127.0.0.1."""

    class Site(BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            source = unquote(urlsplit(self.path).query)
            self.wfile.write(f"{HEARING}<iframe src='{source}' width=1000 height=700></iframe>".encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Site) as site:
        Thread(target=site.serve_forever, daemon=True).start()
        yield f"http://localhost:{site.server_port}"
        site.shutdown()


@pytest.fixture
def embed(context, course_site):
    """Open a page of the course site that shows an address in a frame; gives what Chromium says of its policy, too."""
    page, said = context.new_page(), []
    page.set_default_timeout(LIMIT)
    page.on("console", lambda message: said.append(message.text) if POLICY in message.text else None)

    def open_page(url):
        page.goto(f"{course_site}/?{quote(url)}")
        return page, said

    yield open_page
    page.close()


def test_a_course_site_that_is_named_shows_the_app_in_a_frame(embed, below):
    page, said = embed(f"{below}/?n=2&h=2&w=2&c=3")
    page.frame_locator("iframe").locator(".st-key-cube .nv-plot[data-drawn]").wait_for()
    assert said == []


def test_a_course_site_hears_of_the_state_of_its_frame_and_sets_it(embed, below):
    page, said = embed(f"{below}/?scheme=layer&n=2&c=8&lock=shape&embed=true")
    page.wait_for_function("heard.at(-1)?.type === 'normviz:ready'")
    assert page.evaluate("heard.at(-1).page") == f"{BASE}/"
    frame = page.frames[1]

    def set_link(query, told):
        page.evaluate("(query) => frames[0].postMessage({ type: 'normviz:set', query }, '*')", query)
        page.wait_for_function("heard.at(-1).type === 'normviz:state'")
        assert dict(parse_qsl(page.evaluate("heard.pop().query"), keep_blank_values=True)) == told

    held = {"n": "2", "c": "8", "lock": "shape"}
    set_link("scheme=group&groups=900&n=5", held | {"scheme": "group", "groups": "8"})  # nearest; the shape is locked
    expect(frame.get_by_role("radio", name="Group", exact=True)).to_be_checked()
    set_link("//evil.example/#javascript:alert(1)", {"//evil.example/#javascript:alert(1)": ""} | held)
    expect(frame.get_by_text("no setting has this name")).to_be_visible()
    assert frame.url.startswith(f"{below}/?embed=true")
    assert said == []


def test_a_site_that_is_not_named_does_not_show_the_app_in_a_frame(embed, server):
    page, said = embed(f"{server}/?n=2&h=2&w=2&c=3")
    soon(page, lambda: said)
    assert "frame-ancestors 'self'" in said[0]
    expect(page.frame_locator("iframe").locator(".stApp")).to_have_count(0)
