"""Security of the app: headers of every response, a closed address, and the environment variables of the server."""

import re
from base64 import b64encode
from collections.abc import Mapping
from hashlib import sha256

from starlette.datastructures import MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from normviz.core.errors import InvalidInput
from normviz.jobs.executors import count_workers

FRAME_ANCESTORS_VARIABLE = "NORMVIZ_FRAME_ANCESTORS"
"""The environment variable with the sites that may embed the app, separated by spaces; "*" stands for every site."""

METRICS_VARIABLE = "NORMVIZ_METRICS"
"""The environment variable that opens `/_stcore/metrics` where it is 1."""

_SITE = re.compile(r"https?://(\*\.)?[a-z0-9-]+(\.[a-z0-9-]+)*(:(\d{1,5}|\*))?", re.ASCII | re.IGNORECASE)
_INLINE_SCRIPT = re.compile(rb"<script>(.*?)</script>", re.DOTALL)


def read_frame_ancestors(environment: Mapping[str, str]) -> str:
    """Return the sites that may embed the app, from the environment, as the value of CSP's `frame-ancestors`.

    >>> read_frame_ancestors({"NORMVIZ_FRAME_ANCESTORS": "https://canvas.example.edu"})
    "'self' https://canvas.example.edu"

    Raises:
        InvalidInput: the variable holds anything but sites, which could end the directive or the header.
    """
    sites = environment.get(FRAME_ANCESTORS_VARIABLE, "").split()
    for site in sites:
        if site != "*" and not _SITE.fullmatch(site):
            raise InvalidInput(
                f"{FRAME_ANCESTORS_VARIABLE} lists sites, as https://canvas.example.edu or https://*.example.edu, "
                f"separated by spaces, or * for every site; it contains {site!r}."
            )
    return " ".join(["'self'", *sites])


def is_metrics_open(environment: Mapping[str, str]) -> bool:
    """Return True if the environment opens `/_stcore/metrics` to everyone; raise InvalidInput unless it is 0 or 1."""
    value = environment.get(METRICS_VARIABLE) or "0"
    if value not in ("0", "1"):
        raise InvalidInput(f"{METRICS_VARIABLE} is 1 to open /_stcore/metrics, or 0 to close it; it is {value!r}.")
    return value == "1"


def check_environment(environment: Mapping[str, str]) -> None:
    """Raise InvalidInput if an environment variable that the server reads has an invalid value."""
    count_workers(environment)
    read_frame_ancestors(environment)
    is_metrics_open(environment)


def create_security_headers(page: bytes, frame_ancestors: str) -> dict[str, str]:
    """Map the names of the security headers to their values; `page` is the app's HTML, whose scripts they allow.

    The Content-Security-Policy names the app's own host only. It allows the inline scripts of `page` by their hashes.
    """
    scripts = [f"'sha256-{b64encode(sha256(text).digest()).decode()}'" for text in _INLINE_SCRIPT.findall(page)]
    policy = {
        "default-src": "'self'",
        # Streamlit imports the loader of every component from a blob, which only a script that already runs can make.
        "script-src": " ".join(["'self'", "blob:", *scripts]),
        "font-src": "'self' data:",
        "style-src": "'self' 'unsafe-inline'",  # Streamlit and Plotly write their styles while they run
        "img-src": "'self' data: blob:",
        "object-src": "'none'",
        "base-uri": "'none'",
        "form-action": "'self'",
        "frame-ancestors": frame_ancestors,
    }
    return {
        "Content-Security-Policy": "; ".join(f"{name} {sources}" for name, sources in policy.items()),
        "Referrer-Policy": "same-origin",
        "X-Content-Type-Options": "nosniff",
    }


class HeadersMiddleware:
    """ASGI middleware that adds headers to every response."""

    def __init__(self, app: ASGIApp, headers: Mapping[str, str]) -> None:
        self.app, self.headers = app, headers

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request with the headers."""

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        await self.app(scope, receive, send_with_headers if scope["type"] == "http" else send)


class HideMetricsMiddleware:
    """ASGI middleware that hides Streamlit's `/_stcore/metrics`, which reveals the server's usage.

    Streamlit has no setting that closes it and accepts no route at its address.
    """

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, with 404 for the metrics."""
        is_closed = scope["type"] == "http" and scope["path"].endswith("/_stcore/metrics")
        await (PlainTextResponse("Not Found", 404) if is_closed else self.app)(scope, receive, send)
