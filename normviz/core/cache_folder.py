"""The folder of this user for files that can be made again."""

import os
from pathlib import Path


def find_cache_folder() -> Path:
    """Return the path of this user's cache folder of normviz. Raises RuntimeError if there is no home folder."""
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "normviz"
