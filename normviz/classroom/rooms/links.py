"""Links of the app's own pages, the only ones that a class passes on."""

from collections.abc import Collection
from urllib.parse import parse_qsl, urlencode, urlsplit

from normviz.classroom.rooms.limits import MAX_LINK_LENGTH
from normviz.classroom.rooms.records import RefusedRequest


def parse_own_link(text: str, host: str, base_path: str, pages: Collection[str]) -> str:
    """Return a link to one of the app's pages as path and query; raise RefusedRequest for any other.

    The link may lack the address of the server, `host`. `base_path` is "" for none; the default page is called "".

    >>> parse_own_link("https://norm.example.edu/course/compare?n=2#a", "norm.example.edu", "/course", ["compare"])
    '/compare?n=2'
    """
    refused = RefusedRequest(400, "link")
    if len(text) > MAX_LINK_LENGTH:
        raise RefusedRequest(400, "link-length", most=MAX_LINK_LENGTH, length=len(text))
    try:
        split = urlsplit(text.strip())
        values = parse_qsl(split.query, keep_blank_values=True, max_num_fields=200)
        query = urlencode(values)
    except ValueError:  # an address that is none, too many values, or half a character
        raise refused from None
    is_here = split.scheme in ("http", "https") and split.netloc == host if split.scheme or split.netloc else True
    path = split.path
    if base_path and path.startswith(f"{base_path}/"):
        path = path[len(base_path) :]
    if not is_here or not path.startswith("/") or path.strip("/") not in pages:
        raise refused
    return f"/{path.strip('/')}" + (f"?{query}" if query else "")
