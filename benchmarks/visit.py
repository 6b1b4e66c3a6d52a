"""One visit to a page that shows the cube: open it, press keys, move the pointer, and take the times."""

from pathlib import Path

from playwright.sync_api import Browser, Page

PROBE = Path(__file__).with_name("probe.js")
PATIENCE = 300_000  # ms: a benchmark on a busy machine is slow, but it ends
POINTS = [(0.40, 0.40), (0.60, 0.60), (0.45, 0.62), (0.55, 0.38)]
"""Where the pointer goes, as fractions of the cube's width and height."""


class Visit:
    """One page in a context of its own, whose cache is empty at first."""

    def __init__(self, chromium: Browser, url: str, echo: bool = False) -> None:
        self.url, self.echo = url, echo
        self.context = chromium.new_context(viewport={"width": 1280, "height": 900}, color_scheme="light")
        self.page: Page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE)
        self.page.add_init_script(path=PROBE)
        self.http = 0
        network = self.context.new_cdp_session(self.page)
        network.send("Network.enable")
        network.on("Network.loadingFinished", self._loaded)

    def __enter__(self) -> "Visit":
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def _loaded(self, event: dict) -> None:
        self.http += int(event["encodedDataLength"])

    def open(self) -> dict:
        """Go to the page; the time to the first cube and the bytes over HTTP and the websocket until all is quiet."""
        self.http = 0
        self.page.goto(self.url)
        if self.echo:
            self.page.wait_for_selector(".st-key-echo")
            self.settle()
            return {}
        first = self._result()
        self.settle(700)
        return {"ms": first["done"], "http": self.http, "socket": sum(size for _, size in self._messages())}

    def settle(self, pause: int = 300) -> None:
        """Until the script has run, and a while longer."""
        self.page.wait_for_timeout(100)
        self.page.wait_for_selector('[data-testid="stApp"][data-test-script-state="notRunning"]')
        self.page.wait_for_timeout(pause)

    def press(self) -> dict:
        """Add one to the seed by the keyboard; the time to the drawn frame, where it went, and the bytes."""
        seed = self.page.get_by_label("Seed", exact=True)
        if not seed.is_visible():
            self.page.get_by_text("Advanced", exact=True).click()
            self.settle()
        seed.focus()
        self.page.evaluate("kind => probe[kind]()", "echo" if self.echo else "key")
        self.page.keyboard.press("ArrowUp")
        times = self._result()
        self.settle()
        messages, start = self._messages(), times["start"]
        arrived = max(messages, key=lambda message: message[1])[0]  # what carries the figure is the largest
        reacts = self.page.evaluate("() => probe.reacts")
        return {
            "ms": times["done"] - start,
            "server": arrived - start,
            "same": times.get("same", True),
            "socket": sum(size for _, size in messages),
            "mounted": reacts[0][0] - arrived if reacts else None,
            "react": reacts[0][1] - reacts[0][0] if reacts else None,
            "frames": times["done"] - reacts[0][1] if reacts else None,
        }

    def hover(self, places: int) -> list[dict]:
        """Move the pointer from place to place on the cube; for each that lit another cell, when it was drawn."""
        box = self.page.locator(".st-key-cube .nv-graph").bounding_box()
        found = []
        for across, down in POINTS[:places]:
            self.page.evaluate("() => probe.hover()")
            self.page.mouse.move(box["x"] + across * box["width"], box["y"] + down * box["height"])
            times = self._result(2)
            self.page.evaluate("() => probe.stop()")
            self.page.wait_for_timeout(200)
            if times:
                found.append({name: times[name] - times["start"] for name in ("drawn", "done")})
        self.page.mouse.move(2, 2)
        self.page.wait_for_timeout(200)
        return found

    def play(self, seconds: float) -> float:
        """Watch the cube collapse; the frames a second while its cells move."""
        self.page.get_by_role("button", name="Watch it happen").click()
        found = self.page.evaluate("seconds => probe.play(seconds)", seconds)
        self.page.get_by_role("button", name="Close").click()
        return 1000 * found["frames"] / found["ms"]

    def canvas(self) -> str:
        """Size of the picture in pixels."""
        return self.page.evaluate(
            "() => (c => `${c.width} × ${c.height}`)(document.querySelector('.st-key-cube canvas'))"
        )

    def _result(self, seconds: int = 0) -> dict | None:
        """Return what the probe found, None if it found nothing for `seconds` seconds."""
        race = "s => Promise.race([probe.result, new Promise(r => setTimeout(r, s * 1000))])"
        found = self.page.evaluate(race, seconds or PATIENCE / 1000)
        if found is None and not seconds:
            raise TimeoutError(f"{self.url} did not show what was asked for")
        return found

    def _messages(self) -> list[tuple[float, int]]:
        return self.page.evaluate("() => probe.messages")
