"""The runs of a page's script: those that the page has asked for, and those that have ended.

A page that looks finished may still wait for the answer to a click. What it sends and receives tells: every request
for a run goes to the server as a message, and the server announces the begin and the end of each run.
"""

from weakref import WeakKeyDictionary

from playwright.sync_api import Page, WebSocket
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

_RUNS: WeakKeyDictionary[Page, "Runs"] = WeakKeyDictionary()


class Runs:
    """Counts of the runs of one page, read from the messages between it and the server.

    A page may also ask by itself, again and again, for a look at a running job. These requests do not count.

    Attributes:
        requested: number of runs that were asked for.
        sent: the size in bytes of every message to the server, in their order.
    """

    def __init__(self, page: Page) -> None:
        self.requested = 0
        self.sent: list[int] = []
        self._pending = ""  # the kind of run that has been asked for and is not over: "page", "fragment" or none
        self._has_begun = False
        page.on("websocket", self._listen)
        _RUNS[page] = self

    @classmethod
    def of(cls, page: Page) -> "Runs":
        """Return the runs of a page; KeyError where nobody counted them from its beginning."""
        return _RUNS[page]

    @property
    def are_over(self) -> bool:
        """True once every requested run has ended."""
        return not self._pending

    def _listen(self, socket: WebSocket) -> None:
        self._request("page")  # a page asks for its first run at once
        socket.on("framesent", self._take_request)
        socket.on("framereceived", self._take_answer)

    def _request(self, kind: str) -> None:
        self.requested += 1
        self._has_begun = False
        if self._pending != "page":
            self._pending = kind

    def _take_request(self, frame: bytes | str) -> None:
        self.sent.append(len(frame))
        message = BackMsg.FromString(frame) if isinstance(frame, bytes) else BackMsg()
        if message.WhichOneof("type") == "rerun_script" and not message.rerun_script.is_auto_rerun:
            self._request("fragment" if message.rerun_script.fragment_id else "page")

    def _take_answer(self, frame: bytes | str) -> None:
        message = ForwardMsg.FromString(frame) if isinstance(frame, bytes) else ForwardMsg()
        kind, ended = message.WhichOneof("type"), message.script_finished
        if kind == "new_session":
            self._has_begun = True
        elif kind == "script_finished" and self._has_begun:
            # A run that ends early is followed by another one, and the end of a fragment is not that of the page.
            of_fragment = ended == ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY
            if ended == ForwardMsg.FINISHED_EARLY_FOR_RERUN or (of_fragment and self._pending == "page"):
                self._has_begun = False
            else:
                self._pending = ""
