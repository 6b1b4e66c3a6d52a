"""Visitors without browsers: websocket sessions that open a page of a served app and read what it sends."""

import asyncio
import time
from collections.abc import Sequence
from typing import NamedTuple

import websockets
from browsing import ROOT
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

PAGES = sorted("" if path.stem == "tensor_lab" else path.stem for path in (ROOT / "pages").glob("*.py"))
"""The addresses of all pages; the tensor lab is the default one."""


class Visit(NamedTuple):
    """What one visitor got: the seconds until the page was there, what it raised, how many elements it has.

    `text_size`: of the theme in the server's settings, 0 where it has found none.
    """

    seconds: float
    errors: list[str]
    elements: int
    text_size: int


async def visit(url: str, page: str = "", query: str = "", patience: float = 60.0) -> Visit:
    """Open a page, "" for the default one, in a session of its own, and wait until its script has run."""
    start, errors, elements, text_size = time.monotonic(), [], 0, 0
    address = url.replace("http://", "ws://") + "/_stcore/stream"
    async with (
        asyncio.timeout(patience),
        websockets.connect(address, subprotocols=["streamlit"], max_size=None) as socket,
    ):
        asked = BackMsg()
        asked.rerun_script.page_name, asked.rerun_script.query_string = page, query
        await socket.send(asked.SerializeToString())
        async for frame in socket:
            told = ForwardMsg.FromString(frame)
            kind = told.WhichOneof("type")
            if kind == "new_session":
                text_size = told.new_session.custom_theme.base_font_size
            elif kind == "delta":
                elements += 1
                element = told.delta.new_element
                if element.WhichOneof("type") == "exception":
                    errors.append(f"{element.exception.type}: {element.exception.message}")
                elif element.WhichOneof("type") == "alert" and element.alert.format == element.alert.ERROR:
                    errors.append(element.alert.body)
            elif kind == "script_finished" and told.script_finished == ForwardMsg.FINISHED_SUCCESSFULLY:
                break
    return Visit(time.monotonic() - start, errors, elements, text_size)


def all_at_once(url: str, pages: Sequence[str]) -> list[Visit]:
    """Visitors who open these pages at the same moment."""

    async def together() -> list[Visit]:
        return await asyncio.gather(*(visit(url, page) for page in pages))

    return asyncio.run(together())


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
