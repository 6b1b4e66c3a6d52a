"""QR codes."""

import io

import segno
from segno.encoder import DataOverflowError


def make_qr_code(text: str) -> str | None:
    """Make a QR code as SVG, black on white for both themes; return None if the text is too long for one."""
    out = io.BytesIO()
    try:
        code = segno.make_qr(text, error="m")
    except DataOverflowError:
        return None
    code.save(out, kind="svg", scale=6, light="#fff", xmldecl=False, omitsize=True)
    return out.getvalue().decode()
