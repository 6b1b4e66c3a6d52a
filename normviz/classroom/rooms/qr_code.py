"""The QR code of the page where students join."""

import re

from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from normviz.classroom.rooms.codes import normalize_code
from normviz.describe.interface_words import DEFAULT_LANGUAGE, get_words
from normviz.ui.link import LANGUAGE_PARAM, clean_values
from normviz.web.qr_code import make_qr_code
from normviz.web.script_routes import JOIN_PATH, prefix_base_path

_ORIGIN = re.compile(r"https?://[a-z0-9.-]+(:\d{1,5})?|https?://\[[0-9a-f:.]+\](:\d{1,5})?", re.ASCII | re.IGNORECASE)
MAX_ORIGIN_LENGTH = 200


def serve_qr_code(request: Request) -> Response:
    """Return the response with the QR code of a class as SVG, black on white in both themes.

    The browser says in `origin` under which address it sees the app, which a server behind a proxy does not know.
    """
    code, origin = normalize_code(request.path_params["code"]), request.query_params.get("origin", "")
    language = clean_values([LANGUAGE_PARAM], request.query_params)[0][LANGUAGE_PARAM.name]
    if code is None or len(origin) > MAX_ORIGIN_LENGTH or not _ORIGIN.fullmatch(origin):
        return PlainTextResponse(get_words("refusal", language)["origin"], 400)
    address = f"{origin}{prefix_base_path(JOIN_PATH)}/{code}"
    address += "" if language == DEFAULT_LANGUAGE else f"?{LANGUAGE_PARAM.name}={language}"
    return Response(make_qr_code(address), media_type="image/svg+xml", headers={"Cache-Control": "max-age=86400"})
