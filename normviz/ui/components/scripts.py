"""The scripts and styles of the components: each has those of its name in this folder, and shares some with others."""

from functools import lru_cache
from hashlib import blake2b
from pathlib import Path

PARTS: dict[str, tuple[str, ...]] = {
    "plot": (
        "linked",
        "shared",
        "cells",
        "labels",
        "framing",
        "sizing",
        "inside",
        "player",
        "stages",
        "pointing",
        "outline",
        "camera",
        "saving",
    ),
    "element": ("linked", "strip"),
    "grid": ("player",),
    "picture": ("saving",),
    "diagram": ("saving",),
}
"""By the name of a component: what stands before its own script, and before its style where a part has one."""

NAMES = {path.stem for path in Path(__file__).parent.glob("*.js")}
"""Of all scripts, also of those that are parts."""


@lru_cache(maxsize=64)
def script(name: str) -> str:
    """The JavaScript of a component: that of its name, behind data.js, which all of them share, and its parts."""
    return "".join(_read(each, "js") for each in ("data", *PARTS.get(name, ()), name))


@lru_cache(maxsize=64)
def style(name: str) -> str:
    """The CSS of a component, behind that of its parts."""
    return "".join(_read(each, "css") for each in (*PARTS.get(name, ()), name))


@lru_cache(maxsize=64)
def digest(name: str) -> str:
    """What tells a component's script from any other, and from what it was before."""
    return blake2b(script(name).encode(), digest_size=8).hexdigest()


def _read(name: str, suffix: str) -> str:
    """What a component or a part says; a part may have no style."""
    path = Path(__file__).with_name(f"{name}.{suffix}")
    return path.read_text() if path.exists() else ""
