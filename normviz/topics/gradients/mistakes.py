"""The known mistakes of homework on normalization, from `mistakes.toml`."""

import tomllib
from pathlib import Path
from typing import NamedTuple


class Mistake(NamedTuple):
    """A known mistake: its key, its name, a sentence that describes it, and its remedy."""

    key: str
    name: str
    description: str
    remedy: str


MISTAKES = {
    key: Mistake(key, **texts)
    for key, texts in tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8")).items()
}
"""Every mistake by key."""
