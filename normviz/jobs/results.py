"""The results of jobs that give named arrays: partial results in memory, finished ones on disk too."""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Protocol

import numpy as np

from normviz.jobs.bounded_store import BoundedStore
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.spec import Job, compute_digest

Arrays = dict[str, np.ndarray]
"""The result of a part, or its partial result. "share" is the finished share, 1 in the end."""


class Part(Job[Arrays], Protocol):
    """A job with named arrays as its result."""

    @property
    def seconds(self) -> float:
        """The modelled seconds of the part on the machine of the cost models."""

    def __hash__(self) -> int:
        """Return a hash: results are found by parts."""


Results = Mapping[Part, Arrays]
"""The results of the parts that have begun."""

MAX_PARTS_IN_MEMORY = 512
"""The maximal number of parts whose results a server keeps in memory."""


class ResultArchive:
    """The results of parts for all sessions and threads of a server, with complete ones on disk too."""

    def __init__(self, disk: ResultCache) -> None:
        self.disk = disk
        self._at_hand: BoundedStore[str, Arrays] = BoundedStore(MAX_PARTS_IN_MEMORY, replaces=_is_further)

    def store_result(self, part: Part, arrays: Arrays) -> None:
        """Store the result of a part so far; on disk too, once it is complete."""
        name = name_result(part)
        self._at_hand.put(name, arrays)
        if is_complete(arrays):
            self.disk.put(name, arrays)

    def find_results(self, parts: Sequence[Part]) -> Results:
        """Return the results of the parts that have any."""
        names = {part: name_result(part) for part in parts}
        found = {name: arrays for name in names.values() if (arrays := self._at_hand.get(name)) is not None}
        kept = self.disk.get_all([name for name in names.values() if name not in found or not is_complete(found[name])])
        for name, arrays in kept.items():
            self._at_hand.put(name, arrays)
        found |= kept
        return {part: found[name] for part, name in names.items() if name in found}

    def find_missing(self, parts: Sequence[Part]) -> list[Part]:
        """Return the parts without a complete result."""
        found = self.find_results(parts)
        return [part for part in parts if part not in found or not is_complete(found[part])]

    def count_damaged(self, parts: Sequence[Part]) -> int:
        """Return the number of these parts with a result found damaged on disk and not computed again yet."""
        return sum(self.disk.is_damaged(name_result(part)) for part in parts)


def is_complete(arrays: Arrays) -> bool:
    """Return True if a result is that of a finished part."""
    return bool(arrays["share"] == 1)


def _is_further(candidate: Arrays, current: Arrays) -> bool:
    return bool(candidate["share"] >= current["share"])


def name_result(part: Part) -> str:
    """Return the name of a part's result: its digest."""
    return _compute_digest(part, part.version)


@lru_cache(maxsize=1024)
def _compute_digest(part: Part, version: int) -> str:
    """Return the digest of a part; cached, since a page asks for each part twice a second."""
    return compute_digest(part)
