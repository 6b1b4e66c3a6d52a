"""The routes of classes, in JSON, and of the page that students open."""

import asyncio
import os
import re
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from functools import cache
from typing import Any, TypeVar

from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from normviz.classroom.rooms.bodies import parse_body, read_answer, read_device_and_link, read_pace, read_question
from normviz.classroom.rooms.database import DATABASE_ERRORS, Database, read_database_url
from normviz.classroom.rooms.join_page import serve_join_page
from normviz.classroom.rooms.limits import MAX_BODY_BYTES
from normviz.classroom.rooms.links import parse_own_link
from normviz.classroom.rooms.qr_code import serve_qr_code
from normviz.classroom.rooms.records import RefusedRequest
from normviz.classroom.rooms.rooms import Rooms
from normviz.classroom.rooms.store import ClassStore
from normviz.core.errors import InvalidInput
from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES, get_words
from normviz.ui.page_texts import PAGE_TEXTS
from normviz.web.script_routes import JOIN_PATH, prefix_base_path

SECRET_HEADER = "x-class-secret"
"""The header with the secret of a class."""

PAGES = ("", *(text.page for text in PAGE_TEXTS[1:]))
"""Names of the app's pages in links."""

NO_STORE_HEADERS = {"Cache-Control": "no-store"}

Value = TypeVar("Value")
Body = Mapping[str, Any]
Answering = Callable[["ClassRequest"], Awaitable[Body]]
"""Function that answers a request to a class with an object of JSON."""


class ClassRequest:
    """Request to a class, with an admitted code and the JSON object of its body.

    Attributes:
        secret: as it was sent, "" if it was not.
        query: values of the address.
        language: that the client asks for, of questions and refusals.
    """

    def __init__(self, rooms: Rooms, request: Request, code: str, body: Body) -> None:
        self.rooms, self.code, self.body = rooms, code, body
        self.secret = request.headers.get(SECRET_HEADER, "")
        self.query = request.query_params
        self.language = _get_language(request)
        self._host = request.headers.get("host", "")

    def parse_link(self, link: str) -> str:
        """Return a link to one of the app's pages as path and query; raise RefusedRequest for any other."""
        return parse_own_link(link, self._host, prefix_base_path("").rstrip("/"), PAGES)

    async def change_class(self, work: Callable[[ClassStore], Value]) -> Value:
        """Call `work` with the store, wake the requests that wait for a change, and return the result."""
        result = await self.rooms.run(work)
        self.rooms.watch.announce_change(self.code)
        return result


async def get_state(asked: ClassRequest) -> Body:
    """Return the class's state as students see it; with `after` in the URL, once its version is another one."""
    after = asked.query.get("after", "")
    watch = asked.rooms.watch
    waits = after.isascii() and after.isdigit() and len(after) < 10
    state = await (watch.wait_for_change(asked.code, int(after)) if waits else watch.read_state(asked.code))
    return state.to_data()


async def get_results(asked: ClassRequest) -> Body:
    """Return the counts of answers, the question, the pace and the links, as the lecturer sees them."""
    return await asked.rooms.run(lambda store: store.read_results(asked.code, asked.secret))


async def post_question(asked: ClassRequest) -> Body:
    """Ask the class the question in the request's body, and return the question's number."""
    # Imported late: Table 1 has caches of Streamlit, whose runtime does not exist when the routes are created.
    from normviz.classroom.rooms.cell_question import make_cell_question
    from normviz.classroom.rooms.lesson_question import make_lesson_question

    question_makers = {"cell": make_cell_question, "lesson": make_lesson_question}
    question = read_question(asked.body, asked.parse_link, question_makers, asked.language)
    number = await asked.change_class(lambda store: store.ask_question(asked.code, asked.secret, question))
    return {"number": number}


async def post_answer(asked: ClassRequest) -> Body:
    """Record a student's answer, and return the index of its choice."""
    return {"choice": await asked.rooms.writer.record_answer(read_answer(asked.body, asked.code))}


async def post_snapshot(asked: ClassRequest) -> Body:
    """Store the link that a student sends, and return it as path and query."""
    device, link = read_device_and_link(asked.body, asked.parse_link)
    await asked.rooms.run(lambda store: store.add_snapshot(asked.code, device, link))
    return {"link": link}


async def post_close(asked: ClassRequest) -> Body:
    """Close the current question to further answers, and return {"closed": True}."""
    await asked.change_class(lambda store: store.close_question(asked.code, asked.secret))
    return {"closed": True}


async def post_reveal(asked: ClassRequest) -> Body:
    """Close the current question and show the class the right answer and the counts; return both flags."""
    await asked.change_class(lambda store: store.reveal_answer(asked.code, asked.secret))
    return {"closed": True, "revealed": True}


async def post_pace(asked: ClassRequest) -> Body:
    """Lead the class to the step in the request's body, pause it or let it go, and return mode and link."""
    pace = read_pace(asked.body, asked.parse_link)
    await asked.change_class(lambda store: store.set_pace(asked.code, asked.secret, pace))
    return {"mode": pace.mode, "link": pace.link}


async def post_end(asked: ClassRequest) -> Body:
    """End the class, which deletes everything in it, and return {"ended": True}."""
    await asked.change_class(lambda store: store.end_class(asked.code, asked.secret))
    return {"ended": True}


ACTIONS: Mapping[str, Answering] = {
    "question": post_question,
    "answer": post_answer,
    "snapshot": post_snapshot,
    "close": post_close,
    "reveal": post_reveal,
    "pace": post_pace,
    "end": post_end,
}
"""Functions that answer what is posted to a class, by the last part of the address."""


@cache
def get_rooms() -> Rooms:
    """Return the `Rooms` of the database that the environment names; exit with an error on stderr if it is invalid."""
    try:
        url = read_database_url(os.environ)
    except InvalidInput as error:
        sys.exit(f"normviz: {error}")
    return Rooms(lambda: ClassStore(Database(url)))


@asynccontextmanager
async def delete_old_classes() -> AsyncIterator[None]:
    """Delete old classes every hour, as long as the block runs."""
    task = asyncio.create_task(get_rooms().delete_old_classes())
    try:
        yield
    finally:
        task.cancel()


def create_class_routes(rooms: Rooms | None = None) -> list[Route]:
    """Return the routes of lectures and of the students' page, stored by `rooms` or else by `get_rooms`."""
    served = rooms or get_rooms()

    async def open_class(request: Request) -> Response:
        async def answer() -> Body:
            _refuse_other_sites(request)
            code, secret = await served.open_class(_get_address(request))
            return {"code": code, "secret": secret}

        return await _respond(request, answer)

    def answer_with(answering: Answering) -> Callable[[Request], Awaitable[Response]]:
        async def endpoint(request: Request) -> Response:
            address = _get_address(request)

            async def answer() -> Body:
                if SECRET_HEADER not in request.headers:
                    _refuse_other_sites(request)
                code = served.admit_code(address, request.path_params["code"])
                body = parse_body(await _read_body(request)) if request.method == "POST" else {}
                try:
                    result = await answering(ClassRequest(served, request, code, body))
                except RefusedRequest as refused:
                    served.note_outcome(address, code, refused.status)
                    raise
                served.note_outcome(address, code, 200)
                return result

            return await _respond(request, answer)

        return endpoint

    at_class = prefix_base_path("class")
    at_join = prefix_base_path(JOIN_PATH)
    return [
        Route(at_join, serve_join_page),
        Route(f"{at_join}/{{code}}", serve_join_page),
        Route(f"{at_join}/{{code}}/qr.svg", serve_qr_code),
        Route(at_class, open_class, methods=["POST"]),
        Route(f"{at_class}/{{code}}", answer_with(get_state), methods=["GET"]),
        Route(f"{at_class}/{{code}}/results", answer_with(get_results), methods=["GET"]),
        *(
            Route(f"{at_class}/{{code}}/{name}", answer_with(answering), methods=["POST"])
            for name, answering in ACTIONS.items()
        ),
    ]


async def _respond(request: Request, answer: Callable[[], Awaitable[Body]]) -> Response:
    """Return the response with the JSON object that `answer` returns, or with the error that it raises."""
    try:
        return JSONResponse(await answer(), headers=NO_STORE_HEADERS)
    except RefusedRequest as refused:
        return JSONResponse({"error": refused.format_reason(_get_language(request))}, refused.status, NO_STORE_HEADERS)
    except ClientDisconnect:
        return Response(status_code=400)  # for nobody
    except DATABASE_ERRORS as error:
        print(f"normviz: the database of classes: {' '.join(str(error).split())[:300]}", file=sys.stderr)
        reason = get_words("refusal", _get_language(request))["database"]
        return JSONResponse({"error": reason}, 503, NO_STORE_HEADERS)


async def _read_body(request: Request) -> bytes:
    """Return the body of a request. Raises RefusedRequest if it is longer than `MAX_BODY_BYTES`."""
    content = b""
    async for chunk in request.stream():
        content += chunk
        if len(content) > MAX_BODY_BYTES:
            raise RefusedRequest(413, "body-length", most=MAX_BODY_BYTES)
    return content


def _get_language(request: Request) -> str:
    """Return the language that a request asks for first, or the default if the app has no words in that language."""
    first = re.split(r"[-,;]", request.headers.get("accept-language", ""))[0].strip().lower()
    return first if first in LANGUAGES else DEFAULT_LANGUAGE


def _get_address(request: Request) -> str:
    return request.client.host if request.client else ""


def _refuse_other_sites(request: Request) -> None:
    """Raise RefusedRequest if the browser says in a header that a page of another site sent the request."""
    if request.headers.get("sec-fetch-site") == "cross-site":
        raise RefusedRequest(403, "other-site")
