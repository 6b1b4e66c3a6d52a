"""Read the ES modules and the styles of this folder.

Modules import each other by relative addresses below one digest of all of them. So a browser may cache them forever and
never mixes two versions.
"""

import re
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path

WEB_FOLDER = Path(__file__).parent
INLINE_FOLDER = WEB_FOLDER / "inline"
"""Scripts and the style that are part of every page instead of being fetched."""

MODULE_SOURCES = {path.name: path.read_bytes() for path in sorted(WEB_FOLDER.glob("*.js"))}
"""The content of each module by its file name."""


MODULES_DIGEST = blake2b(
    b"".join(name.encode() + b"\0" + text + b"\0" for name, text in MODULE_SOURCES.items()), digest_size=8
).hexdigest()
"""A digest of the names and contents of all modules."""


def find_imports(name: str) -> list[str]:
    """Return the file names of a JavaScript module and of all modules that it imports, also indirectly.

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
    """Read and join the CSS files of these names, given without ".css".

    Raises:
        FileNotFoundError: a style is not in the folder.
    """
    return "".join((WEB_FOLDER / f"{name}.css").read_text() for name in names)
