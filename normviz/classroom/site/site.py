"""Build the lessons as a folder of static files: one page, plotly.js once, and a file for each picture of a step.

A page that is opened as a file may not read others, but it may run them. So a picture is a script that hands its
content, compressed, to the page. Nothing is loaded from another host.
"""

import gzip
from base64 import b64encode
from collections.abc import Callable, Iterable, Iterator
from hashlib import blake2b

from normviz.charts.packing import pack_message
from normviz.classroom.lessons.lesson import Lesson
from normviz.classroom.site.site_page import build_site_page
from normviz.classroom.site.step_parts import StepPart
from normviz.classroom.site.step_pictures import draw_step_picture
from normviz.describe.interface_words import DEFAULT_LANGUAGE
from normviz.web.plotly_script import read_plotly_script

PLOTLY_FILE = "plotly.js"
PAGE_FILE = "index.html"
PICTURE_FOLDER = "pictures"

DrawPicture = Callable[[str], list[StepPart]]


def build_site(
    lessons: Iterable[Lesson], draw: DrawPicture = draw_step_picture, language: str = DEFAULT_LANGUAGE
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of each file of the static site, index.html last; `draw(link)` returns `StepPart`s.

    Raises InvalidInput if plotly is not installed, or the state of a link cannot be drawn.
    """
    lessons = list(lessons)
    links = [link for lesson in lessons for step in lesson.steps for link in (step.link, step.reveal) if link]
    pictures: dict[str, str] = {}
    yield PLOTLY_FILE, wrap_content(PLOTLY_FILE, read_plotly_script())
    for link in dict.fromkeys(links):
        parts = draw(link)
        if not parts:
            continue
        content = pack_message([{"component": each.component, "name": each.name, **each.contents} for each in parts])
        pictures[link] = f"{PICTURE_FOLDER}/{blake2b(content, digest_size=8).hexdigest()}.js"
        yield pictures[link], wrap_content(pictures[link], content)
    yield PAGE_FILE, build_site_page(lessons, pictures, language).encode()


def wrap_content(path: str, content: bytes) -> bytes:
    """Return JavaScript that gives the page the content of a file under its path."""
    return f'keepContent("{path}","{b64encode(gzip.compress(content, mtime=0)).decode()}")'.encode()
