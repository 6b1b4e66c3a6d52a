"""The results of jobs that give named arrays: partial results in memory, finished ones on disk too."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np

from normviz.jobs.bounded_store import BoundedStore
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.spec import Job, compute_digest

Arrays = dict[str, np.ndarray]
"""The result of a part, or its partial result. "share" is the finished share, 1 in the end."""


class Part(Job[Arrays]):
    """Job of an experiment or claim; its result is a dict of named arrays."""

    @property
    def seconds(self) -> float:
        """The expected seconds of the job on the reference machine of the cost models."""
        raise NotImplementedError


Results = Mapping[Part, Arrays]
"""The results of the parts that have begun."""

MAX_PARTS_IN_MEMORY = 512
"""The maximal number of parts whose results a server keeps in memory."""


class ResultArchive:
    """Results of jobs for all sessions of a server: partial ones in memory, complete ones on disk too."""

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
        """Return the results, partial or complete, of the parts that have any."""
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
        """Return the number of parts whose stored result was damaged and has not been computed again."""
        return sum(self.disk.is_damaged(name_result(part)) for part in parts)


def is_complete(arrays: Arrays) -> bool:
    """Return True if a result is that of a finished part: its "share" is 1."""
    return bool(arrays["share"] == 1)


def _is_further(candidate: Arrays, current: Arrays) -> bool:
    return bool(candidate["share"] >= current["share"])


def name_result(part: Part) -> str:
    """Return the name under which a part's result is stored: its digest."""
    return _compute_digest(part, part.version)


@lru_cache(maxsize=1024)
def _compute_digest(part: Part, version: int) -> str:
    """Compute the digest of a part; cached, since a page asks for each part twice a second."""
    return compute_digest(part)
