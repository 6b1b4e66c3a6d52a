"""Versions of the packages that matter to a job, compared with those of another machine."""

import sys
from importlib.metadata import PackageNotFoundError, version

import normviz
from normviz.core.errors import InvalidInput

PACKAGES = ("torch", "numpy", "distributed")
"""Packages besides Python and normviz that change results or messages between machines."""


def get_installed_versions() -> dict[str, str]:
    """Map the names of the packages that matter to a job to their versions here, "missing" if not installed."""
    return {"Python": "{}.{}".format(*sys.version_info), "normviz": normviz.__version__} | {
        name: _find_version(name) for name in PACKAGES
    }


def _find_version(name: str) -> str:
    try:
        return version(name).partition("+")[0]  # torch for a GPU is torch
    except PackageNotFoundError:
        return "missing"


def check_versions(machine_name: str, versions: dict[str, str] | Exception) -> None:
    """Raise InvalidInput if another machine's package versions differ from those here, or are unknown.

    `versions` is the exception in the latter case.
    """
    here = get_installed_versions()
    if isinstance(versions, Exception):
        problem = f"cannot run normviz {here['normviz']}: {versions}"
    elif differ := [name for name in here if versions.get(name) != here[name]]:
        theirs, own = (" and ".join(f"{name} {found.get(name)}" for name in differ) for found in (versions, here))
        problem = f"has {theirs}; here is {own}"
    else:
        return
    raise InvalidInput(f"{machine_name} {problem}. Install the same everywhere: pip install 'normviz[train,cluster]'.")
