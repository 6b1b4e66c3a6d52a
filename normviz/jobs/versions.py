"""What is installed on this machine that matters to a job, and whether another machine has the same."""

import sys
from importlib.metadata import PackageNotFoundError, version

import normviz
from normviz.core.errors import InvalidInput

PACKAGES = ("torch", "numpy", "distributed")
"""Packages that decide, besides Python and normviz, which numbers come out, and what can be sent."""


def get_installed_versions() -> dict[str, str]:
    """The versions that are here."""
    return {"Python": "{}.{}".format(*sys.version_info), "normviz": normviz.__version__} | {
        name: _version(name) for name in PACKAGES
    }


def _version(name: str) -> str:
    try:
        return version(name).partition("+")[0]  # torch for a GPU is torch
    except PackageNotFoundError:
        return "missing"


def check_versions(machine: str, versions: dict[str, str] | Exception) -> None:
    """Raise InvalidInput where another machine has other versions, or raised an error when it was asked for them."""
    here = get_installed_versions()
    if isinstance(versions, Exception):
        told = f"cannot run normviz {here['normviz']}: {versions}"
    elif differ := [name for name in here if versions.get(name) != here[name]]:
        theirs, own = (" and ".join(f"{name} {found.get(name)}" for name in differ) for found in (versions, here))
        told = f"has {theirs}; here is {own}"
    else:
        return
    raise InvalidInput(f"{machine} {told}. Install the same everywhere: pip install 'normviz[train,cluster]'.")
