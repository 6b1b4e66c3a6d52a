"""Pictures of a web page as PNG, drawn by the browser that Plotly's exporter kaleido controls."""

import asyncio
from base64 import b64decode
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from normviz.core.errors import InvalidInput

WAIT_SECONDS = 60
"""Most seconds until the browser has drawn the page."""

FIND_FRAME = """new Promise((resolve) => {
  const look = () => {
    if (!document.querySelector(".nv-plot[data-drawn]:not([data-drawing])")) return setTimeout(look, 50);
    const { x, y, width, height } = document.querySelector(".nv-frame").getBoundingClientRect();
    document.querySelector(".nv-save").remove();
    requestAnimationFrame(() => resolve({ x, y, width, height, scale: 1 }));
  };
  look();
})"""
"""JavaScript that waits until the cube is drawn and returns the place of its frame, without the menu over it."""


def draw_png(html: str, width: int, height: int) -> bytes:
    """Draw the cube of a web page as PNG, at twice the size in pixels, in the light theme.

    Raises InvalidInput if kaleido is not installed, or finds no browser.
    """
    try:
        import_module("kaleido")
        browser = import_module("choreographer").Browser  # what kaleido controls a browser with
    except ImportError:
        raise InvalidInput("a PNG needs kaleido, Plotly's exporter; install it with: pip install kaleido") from None
    try:
        # A thread of its own, since a notebook already runs an event loop.
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(lambda: asyncio.run(_capture(browser, html, width, height))).result()
    except (OSError, RuntimeError) as error:
        raise InvalidInput(
            f"kaleido's browser drew nothing ({type(error).__name__}); kaleido_get_chrome installs one."
        ) from error


async def _capture(browser: Any, html: str, width: int, height: int) -> bytes:
    with TemporaryDirectory() as folder:
        page = Path(folder, "cube.html")
        page.write_text(html, encoding="utf-8")
        async with browser() as opened:
            tab = await opened.create_tab("")
            size = {"width": width, "height": height, "deviceScaleFactor": 2, "mobile": False}
            await tab.send_command("Emulation.setDeviceMetricsOverride", size)
            await tab.send_command("Page.navigate", {"url": page.as_uri()})
            asked = {"expression": FIND_FRAME, "awaitPromise": True, "returnByValue": True}
            found = await asyncio.wait_for(tab.send_command("Runtime.evaluate", asked), WAIT_SECONDS)
            place = found["result"]["result"]["value"]
            drawn = await tab.send_command("Page.captureScreenshot", {"clip": place})
            return b64decode(drawn["result"]["data"])
