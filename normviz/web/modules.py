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
    """Read and join the CSS files of these names, given without ".css"."""
    return "".join((WEB_FOLDER / f"{name}.css").read_text() for name in names)


_IMPORT = re.compile(r'^import \{([^}]*)\} from "\./(\w+)\.js";$', re.MULTILINE)
_EXPORT = re.compile(r"^export (?:async )?(?:function|class|const|let) (\w+)", re.MULTILINE)


def bundle_modules(name: str) -> str:
    """Join a module and all that it imports into one script without imports, for a page that loads nothing.

    Each module becomes a function of its own, so that equal private names do not meet. It returns what it exports.
    Raises ValueError if two modules import each other.
    """
    joined: dict[str, str] = {}

    def add(each: str, importers: tuple[str, ...]) -> None:
        if each in importers:
            raise ValueError(f"{each} imports itself: {' > '.join((*importers, each))}")
        if each in joined:
            return
        text = MODULE_SOURCES[each].decode()
        for imported in _IMPORT.findall(text):
            add(f"{imported[1]}.js", (*importers, each))
        exported = _EXPORT.findall(text) + ["default: main"] * ("\nexport default " in text)
        text = _IMPORT.sub(lambda found: f"const {{{found[1].replace(' as ', ': ')}}} = {found[2]}_js;", text)
        text = re.sub(r"^export default ", "const main = ", text, flags=re.MULTILINE)
        text = re.sub(r"^export ", "", text, flags=re.MULTILINE)
        joined[each] = (
            f"const {each.replace('.', '_')} = (() => {{\n{text}return {{ {', '.join(exported)} }};\n}})();\n"
        )

    add(name, ())
    return "".join(joined.values())
