"""Visitors without browsers: websocket sessions that open a page of a served app, change what it is set to, and read
what it sends."""

import asyncio
import json
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import websockets
from browsing import ROOT
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from unpacked import shown

from normviz.ui.frame import FORMER_PAGES

PAGES = sorted(
    {"" if path.stem == "tensor_lab" else path.stem for path in (ROOT / "pages").glob("*.py")} - {*FORMER_PAGES}
)
"""The addresses of all pages; the tensor lab is the default one."""

LONGEST = 8
"""What a visitor takes for the length of an axis at most; the page would take thousands."""


class Visit(NamedTuple):
    """What one visitor got: the seconds until the page was there, what it raised, how many elements it has.

    `text_size`: of the theme in the server's settings, 0 where it has found none.
    """

    seconds: float
    errors: list[str]
    elements: int
    text_size: int


@dataclass
class Visitor:
    """A session on a page.

    Attributes:
        widgets: what can be set, by the widget's id: the element, and the fragment that it is in.
        states: what they are set to, where the visitor has set them.
        again: the interval, in seconds, and the fragment that the page wants to have run again by itself.
        script: what the server calls the page.
    """

    socket: websockets.ClientConnection
    page: str
    query: str
    states: dict[str, WidgetState] = field(default_factory=dict)
    widgets: dict[str, tuple[Element, str]] = field(default_factory=dict)
    again: tuple[float, str] | None = None
    script: str = ""

    async def ask(self, fragment: str = "", by_itself: bool = False) -> Visit:
        """Have the page, or a fragment of it, run with the widgets as they are, and wait until it has."""
        asked, start = BackMsg(), time.monotonic()
        run = asked.rerun_script
        run.query_string, run.page_script_hash = self.query, self.script
        run.page_name = "" if self.script else self.page
        run.fragment_id, run.is_auto_rerun = fragment, by_itself
        run.widget_states.widgets.extend(self.states[key] for key in self.states.keys() & self.widgets.keys())
        await self.socket.send(asked.SerializeToString())
        return await self._answer(start, bool(fragment))

    async def change(self, random: Random) -> Visit:
        """Set one of the page's widgets, whichever, to another value."""
        state, fragment = None, ""
        while state is None:
            element, fragment = random.choice(list(self.widgets.values()))
            state = another(element, random)
        self.states[state.id] = state
        return await self.ask(fragment)

    async def stay(self, seconds: float) -> None:
        """Look at the page for some seconds, and have run what it wants to have run again by itself."""
        end = time.monotonic() + seconds
        while self.again and time.monotonic() + self.again[0] < end:
            interval, fragment = self.again
            await asyncio.sleep(interval)
            await self.ask(fragment, by_itself=True)
        await asyncio.sleep(max(end - time.monotonic(), 0))

    async def _answer(self, start: float, part: bool) -> Visit:
        errors, elements, text_size = [], 0, 0
        async for frame in self.socket:
            told = ForwardMsg.FromString(frame)
            kind = told.WhichOneof("type")
            if kind == "new_session":
                text_size = told.new_session.custom_theme.base_font_size
                if not part:  # all of the page comes anew
                    self.again = None
                    self.widgets.clear()
                part = False  # a fragment may ask for a run of the whole page
            elif kind == "delta":
                elements += 1
                element = told.delta.new_element
                self._take(element, told.delta.fragment_id)
                if element.WhichOneof("type") == "exception":
                    errors.append(f"{element.exception.type}: {element.exception.message}")
                elif element.WhichOneof("type") == "alert" and element.alert.format == element.alert.ERROR:
                    errors.append(element.alert.body)
            elif kind == "navigation":
                self.script = told.navigation.page_script_hash
            elif kind == "page_info_changed":
                self.query = told.page_info_changed.query_string
            elif kind == "auto_rerun":
                self.again = told.auto_rerun.interval, told.auto_rerun.fragment_id
            elif kind == "script_finished" and told.script_finished in (
                ForwardMsg.FINISHED_SUCCESSFULLY,
                ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY,
            ):
                break
        return Visit(time.monotonic() - start, errors, elements, text_size)

    def _take(self, element: Element, fragment: str) -> None:
        """Remember a widget that can be set, in the place of the one with its id."""
        kind = element.WhichOneof("type")
        if kind in CHANGES and not getattr(getattr(element, kind), "disabled", False):
            self.widgets[getattr(element, kind).id] = element, fragment


@asynccontextmanager
async def visitor(url: str, page: str = "", query: str = "") -> AsyncIterator[Visitor]:
    """A session of its own on a page, "" for the default one, which is still to be asked for."""
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    async with websockets.connect(address, subprotocols=["streamlit"], max_size=None) as socket:
        yield Visitor(socket, page, query)


async def visit(url: str, page: str = "", query: str = "", patience: float = 60.0) -> Visit:
    """Open a page in a session of its own, and wait until its script has run.

    A page that does not answer within `patience` seconds is a visit with an error.
    """
    start = time.monotonic()
    try:
        async with asyncio.timeout(patience), visitor(url, page, query) as one:
            return (await one.ask())._replace(seconds=time.monotonic() - start)
    except TimeoutError:
        return Visit(time.monotonic() - start, [f"/{page} did not answer within {patience:g} s."], 0, 0)


def all_at_once(url: str, pages: Sequence[str]) -> list[Visit]:
    """Visitors who open these pages at the same moment; a page may have a query, as in "compare?n=2"."""

    async def together() -> list[Visit]:
        return await asyncio.gather(*(visit(url, *page.partition("?")[::2]) for page in pages))

    return asyncio.run(together())


@contextmanager
def busy_processes(count: int) -> Iterator[None]:
    """Keep the processor busy with `count` other processes until the block ends."""
    processes = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in processes:
            process.kill()
            process.wait()


class Session:
    """One visitor who stays on a page, and looks at nothing unless told to: as a tab in the background."""

    def __init__(self, url: str, page: str = "", query: str = "") -> None:
        self.url, self.page, self.query = url.replace("http://", "ws://") + "/_stcore/stream", page, query
        self.buttons: dict[str, str] = {}

    async def __aenter__(self) -> "Session":
        self._socket = await websockets.connect(self.url, subprotocols=["streamlit"], max_size=None)
        await self._send(BackMsg())
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._socket.close()

    async def click(self, key: str) -> None:
        """Press the button of this key."""
        asked = BackMsg()
        pressed = asked.rerun_script.widget_states.widgets.add()
        pressed.id, pressed.trigger_value = self.buttons[key], True
        await self._send(asked)

    async def rerun(self) -> None:
        """Have the page run again."""
        await self._send(BackMsg())

    async def until(self, *words: str, patience: float = 60.0) -> float:
        """Seconds until an element comes that has one of these words in it; "" for the end of the run."""
        start = time.monotonic()
        async with asyncio.timeout(patience):
            async for frame in self._socket:
                told = ForwardMsg.FromString(frame)
                element = told.delta.new_element
                if element.WhichOneof("type") == "button":
                    self.buttons[element.button.id.split("-", 2)[2]] = element.button.id
                texts = (element.markdown.body, element.progress.text, element.bidi_component.id, element.button.id)
                ended = told.WhichOneof("type") == "script_finished"
                if any(word in text for word in words if word for text in texts) or (ended and "" in words):
                    break
        return time.monotonic() - start

    async def _send(self, asked: BackMsg) -> None:
        asked.rerun_script.page_name, asked.rerun_script.query_string = self.page, self.query
        await self._socket.send(asked.SerializeToString())


def another(element: Element, random: Random) -> WidgetState | None:
    """The state of a widget set to one of its values; None where there is none to choose."""
    kind = element.WhichOneof("type")
    widget = getattr(element, kind)
    name, value = CHANGES[kind](widget, random)
    if value is None:
        return None
    state = WidgetState(id=widget.id)
    if isinstance(value, list):
        getattr(state, name).data.extend(value)
    else:
        setattr(state, name, value)
    return state


def _number(widget: Any, random: Random) -> tuple[str, float]:
    if widget.data_type == widget.FLOAT:
        return "double_value", round(random.uniform(max(widget.min, -10), min(widget.max, 10)), 2)
    most = widget.max if widget.max < 10_000 else LONGEST
    return "double_value", float(random.randint(int(widget.min), int(most)))


def _slider(widget: Any, random: Random) -> tuple[str, list]:
    if widget.options:
        return "string_array_value", [random.choice(widget.options)]
    return "double_array_value", [float(random.randint(int(widget.min), int(widget.max)))]


def _buttons(widget: Any, random: Random) -> tuple[str, list]:
    options, several = [option.content for option in widget.options], widget.click_mode == widget.MULTI_SELECT
    return "string_array_value", random.sample(options, min(3, len(options)) if several else 1)


def _component(widget: Any, random: Random) -> tuple[str, str | None]:
    data = shown(widget.bytes) if widget.component_name == "normviz_drag" else {}
    return "json_value", json.dumps({"index": random.randrange(len(data["texts"]))}) if data else None


CHANGES = {
    "number_input": _number,
    "slider": _slider,
    "selectbox": lambda widget, random: ("string_value", random.choice(widget.options)),
    "button_group": _buttons,
    "checkbox": lambda widget, random: ("bool_value", random.random() < 0.5),
    "bidi_component": _component,
}
"""By the kind of a widget: the name of its value in a message, and one of its values."""
