"""Read the ES modules and the styles of this folder.

Modules import each other by relative addresses. All of them are served below one digest, which changes with any of
them, so that a browser may keep them for good and never mixes two versions.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

WEB_FOLDER = Path(__file__).parent
INLINE_FOLDER = WEB_FOLDER / "inline"
"""Scripts and the style that are part of every page rather than fetched."""

MODULE_SOURCES = {path.name: path.read_bytes() for path in sorted(WEB_FOLDER.glob("*.js"))}
"""The content of each module by its file name."""


MODULES_DIGEST = blake2b(
    b"".join(name.encode() + b"\0" + text + b"\0" for name, text in MODULE_SOURCES.items()), digest_size=8
).hexdigest()
"""A digest of the names and contents of all modules."""


def find_imports(name: str) -> list[str]:
    """Return the file names of a module and of all modules that it imports, directly or through others.

    Args:
        name: of the module, with ".js".

    Example:
        >>> find_imports("view.js")
        ['view.js', 'indices.js', 'shared.js']
    """
    found = [name]
    for each in found:
        imported = re.findall(rb'^(?:import .*|\}) from "\./(\w+\.js)";$', MODULE_SOURCES[each], re.MULTILINE)
        found += [other.decode() for other in imported if other.decode() not in found]
    return found


def read_styles(names: Sequence[str]) -> str:
    """Return the styles of these names, one after the other.

    Args:
        names: file names without ".css".

    Raises:
        FileNotFoundError: where a style is not in the folder.
    """
    return "".join((WEB_FOLDER / f"{name}.css").read_text() for name in names)
