"""A class that answers from its phones: how long an answer takes, and whether each is counted once.

Simulated phones follow a class as the page `/join/CODE` does, answer each question within some seconds, and half of
them change their answer. Meanwhile other visitors use the app's pages, as in a lesson. See benchmarks/README.md.
"""

import argparse
import asyncio
import json
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import AsyncExitStack, contextmanager, nullcontext
from pathlib import Path
from random import Random

import numpy as np
import paths
from browsing import serving
from classroom import student
from postgres import serving_postgres
from visitors import visitor
from watched import Server

LESSON_PAGES = ("", "compare", "gradients", "running", "invariance")
"""Pages that visitors use meanwhile."""

ANSWERS = 3
"""Answers to choose from."""


class Connection:
    """A connection of one phone, kept open: HTTP with JSON bodies, and nothing else, so that it costs little."""

    def __init__(self, url: str) -> None:
        self.host, self.port = url.removeprefix("http://").split(":")
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def send(self, method: str, path: str, body: object = None, secret: str = "") -> tuple[int, dict]:
        """Send a request and return the status and the body of its response.

        A connection that the server closed because nothing was sent for a while is opened again, as browsers do.
        """
        try:
            return await self._send(method, path, body, secret)
        except (asyncio.IncompleteReadError, ConnectionError):
            self._streams = None
            return await self._send(method, path, body, secret)

    async def _send(self, method: str, path: str, body: object, secret: str) -> tuple[int, dict]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(self.host, int(self.port))
        reader, writer = self._streams
        content = b"" if body is None else json.dumps(body).encode()
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Length: {len(content)}\r\n"
        writer.write(f"{head}X-Class-Secret: {secret}\r\n\r\n".encode() + content)
        lines = (await reader.readuntil(b"\r\n\r\n")).decode().lower().split("\r\n")
        length = next(int(line.split(":")[1]) for line in lines if line.startswith("content-length"))
        return int(lines[0].split()[1]), json.loads(await reader.readexactly(length))

    def close(self) -> None:
        """Close the connection."""
        if self._streams:
            self._streams[1].close()


class Measured:
    """What a class measured.

    Attributes:
        answers: seconds of each answer.
        heard: seconds from a question to each phone that heard of it.
        recorded: by question, the moment of each device's first recorded answer.
        seen: by question, moments and totals of the lecturer's looks.
        wrong: what was not as it should be.
    """

    def __init__(self) -> None:
        self.answers: list[float] = []
        self.heard: list[float] = []
        self.recorded: dict[int, list[float]] = {}
        self.seen: dict[int, list[tuple[float, int]]] = {}
        self.wrong: list[str] = []

    def compute_lags(self) -> list[float]:
        """Return the seconds from each recorded answer to the lecturer's look that counts it."""
        return [
            next((seen for seen, total in self.seen[number] if total > k), float("inf")) - moment
            for number, moments in self.recorded.items()
            for k, moment in enumerate(sorted(moments))
        ]


class Phone:
    """A student's phone."""

    def __init__(self, url: str, code: str, name: str, measured: Measured, random: Random) -> None:
        self.listens, self.sends = Connection(url), Connection(url)
        self.path, self.name, self.measured, self.random = f"/class/{code}", name, measured, random
        self.version, self.choice = 0, -1

    async def hear(self, asked: dict[int, float], number: int) -> None:
        """Wait until the class has a question of this number."""
        while True:
            status, state = await self.listens.send("GET", f"{self.path}?after={self.version}")
            if status != 200:
                self.measured.wrong.append(str(state))
                return
            self.version = state["version"]
            if state["number"] == number:
                self.measured.heard.append(time.monotonic() - asked[number])
                return

    async def answer(self, number: int, within: float) -> None:
        """Answer within some seconds, and perhaps a second time."""
        for k in range(1 + (self.random.random() < 0.5)):
            await asyncio.sleep(self.random.random() * within / 2)
            self.choice = self.random.randrange(ANSWERS)
            start = time.monotonic()
            body = {"device": self.name, "choice": self.choice, "number": number}
            status, said = await self.sends.send("POST", f"{self.path}/answer", body)
            self.measured.answers.append(time.monotonic() - start)
            if status != 200:
                self.measured.wrong.append(str(said))
            elif not k:
                self.measured.recorded.setdefault(number, []).append(time.monotonic())


async def run_class(urls: Sequence[str], args: argparse.Namespace) -> Measured:
    """Run a class on these servers, with its phones shared out among them."""
    measured, lecturer, watcher = Measured(), Connection(urls[0]), Connection(urls[-1])
    _, opened = await lecturer.send("POST", "/class")
    code, secret = opened["code"], opened["secret"]
    phones = [Phone(urls[k % len(urls)], code, f"phone {k}", measured, Random(k)) for k in range(args.phones)]
    asked: dict[int, float] = {}

    async def watch() -> None:
        while True:
            _, results = await watcher.send("GET", f"/class/{code}/results", secret=secret)
            measured.seen.setdefault(results["number"], []).append((time.monotonic(), sum(results["counts"])))
            await asyncio.sleep(0.5)

    watching = asyncio.create_task(watch())
    for number in range(1, args.questions + 1):
        asked[number] = time.monotonic() + 1e9
        hearing = [asyncio.create_task(phone.hear(asked, number)) for phone in phones]
        await asyncio.sleep(1.0)
        asked[number] = time.monotonic()
        body = {"text": "Which?", "answers": [f"answer {k}" for k in range(ANSWERS)]}
        await lecturer.send("POST", f"/class/{code}/question", body, secret)
        await asyncio.gather(*hearing)
        await asyncio.gather(*(phone.answer(number, args.seconds) for phone in phones))
        await asyncio.sleep(1.0)
        _, results = await lecturer.send("GET", f"/class/{code}/results", secret=secret)
        expected = [sum(phone.choice == k for phone in phones) for k in range(ANSWERS)]
        if results["counts"] != expected:
            measured.wrong.append(f"{results['counts']} were counted instead of {expected}.")
    watching.cancel()
    await lecturer.send("POST", f"/class/{code}/end", {}, secret)
    for connection in (lecturer, watcher, *(each for phone in phones for each in (phone.listens, phone.sends))):
        connection.close()
    return measured


async def measure(urls: Sequence[str], args: argparse.Namespace) -> tuple[Measured, float]:
    """Run a class beside visitors of other pages. Returns what it measured and the server's busy share of a core."""
    async with AsyncExitStack() as stack:
        ones = [
            await stack.enter_async_context(visitor(urls[0], LESSON_PAGES[k % len(LESSON_PAGES)]))
            for k in range(args.visitors)
        ]
        for one in ones:
            await one.ask()
        beside = [asyncio.create_task(student(one, 1e9, Random(k))) for k, one in enumerate(ones)]
        worked, start = [Server(url).worked() for url in urls], time.monotonic()
        measured = await run_class(urls, args)
        spent = sum(Server(url).worked() for url in urls) - sum(worked)
        share = spent / (time.monotonic() - start)
        for each in beside:
            each.cancel()
    return measured, share


@contextmanager
def served_classes(args: argparse.Namespace) -> Iterator[list[str]]:
    """Serve the app, on two servers with one PostgreSQL if the arguments say so."""
    command = [sys.executable, "-m", "streamlit", "run", str(paths.ROOT / "app.py"), "--server.port"]
    with tempfile.TemporaryDirectory() as folder, serving_postgres() if args.postgres else nullcontext("") as database:
        environment = {"NORMVIZ_RESULTS": str(Path(folder) / "results.sqlite"), "NORMVIZ_DATABASE": database}
        with serving(command, environment=environment) as url:
            if not args.postgres:
                yield [url]
                return
            with serving(command, environment=environment) as other:
                yield [url, other]


COLUMNS = [
    "phones", "other visitors", "answers sent", "wrong", "answer: median, ms", "answer: p95, ms", "answer: slowest, ms",
    "question heard: slowest, ms", "lecturer sees: slowest, ms", "processor of the servers, cores",
]  # fmt: skip


def main(argv: Sequence[str] | None = None) -> None:
    """Print the table; exit with 1 if an answer was lost, counted twice or refused."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--phones", type=int, default=300)
    parser.add_argument("--visitors", type=int, default=8, help="of other pages, who change something every 3 s")
    parser.add_argument("--questions", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=10.0, help="within which a phone answers")
    parser.add_argument("--postgres", action="store_true", help="two servers with one PostgreSQL, instead of SQLite")
    parser.add_argument("--smallest", action="store_true", help="six phones, one visitor, one question")
    args = parser.parse_args(argv)
    if args.smallest:
        args.phones, args.visitors, args.questions, args.seconds = 6, 1, 1, 0.5
    with served_classes(args) as urls:
        measured, share = asyncio.run(measure(urls, args))
    for each in measured.wrong[:5]:
        print(each, file=sys.stderr)
    median, most = np.percentile(measured.answers, (50, 95)) * 1000
    slowest = [1000 * max(each) for each in (measured.answers, measured.heard, measured.compute_lags())]
    cells = [args.phones, args.visitors, len(measured.answers), len(measured.wrong), f"{median:.0f}", f"{most:.0f}"]
    cells += [*(f"{each:.0f}" for each in slowest), f"{share:.2f}"]
    title = "Two servers with one PostgreSQL" if args.postgres else "One server with SQLite"
    print(f"**{title}**\n\n| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}\n| {' | '.join(map(str, cells))} |")
    sys.exit(bool(measured.wrong))


if __name__ == "__main__":
    main()
