"""Results on disk, by the digest of their job: shared by all sessions and processes, and there after a restart."""

import io
import os
import sqlite3
import sys
from collections.abc import Callable, Mapping
from contextlib import closing, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeVar
from zipfile import ZipFile

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.data.bounds import MAX_UNPACKED_BYTES
from normviz.data.files import read_npz

Value = TypeVar("Value")
Arrays = dict[str, np.ndarray]

VARIABLE = "NORMVIZ_RESULTS"
"""The variable of the environment that says in which file results are kept."""

MOST = 2**28
"""Bytes of all results that are kept by default."""

READ, WRITE = 0.5, 10.0
"""Seconds that a reader, for whom a page waits, and a writer wait for another process that writes."""

SETUP = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS results (digest TEXT PRIMARY KEY, used INTEGER, size INTEGER, checksum BLOB);
    CREATE TABLE IF NOT EXISTS contents (digest TEXT PRIMARY KEY, content BLOB);
    CREATE INDEX IF NOT EXISTS by_use ON results (used, size);
    CREATE TRIGGER IF NOT EXISTS dropped AFTER DELETE ON results
    BEGIN DELETE FROM contents WHERE digest = old.digest; END;
"""
"""A use is written without the content, which SQLite would write again."""

FIND = "SELECT checksum, content FROM results LEFT JOIN contents USING (digest) WHERE digest = ?"
NEXT = "(SELECT coalesce(max(used), 0) + 1 FROM results)"
"""Uses are numbered, as clocks may be set back."""

TOO_MANY = """
    DELETE FROM results WHERE digest IN
    (SELECT digest FROM (SELECT digest, sum(size) OVER (ORDER BY used DESC) AS total FROM results) WHERE total > ?)
"""


def place() -> Path:
    """The file of the results: what the environment says, or one in the user's cache folder."""
    named, cache = os.environ.get(VARIABLE), os.environ.get("XDG_CACHE_HOME")
    return Path(named) if named else (Path(cache) if cache else Path.home() / ".cache") / "normviz" / "results.sqlite"


class Kept:
    """A bounded store of results, of which those go first that were not used for the longest time.

    For any number of threads and processes. Where nothing can be kept, as on a full disk, it says so once on stderr and
    is empty; what was damaged is not there, until it is kept anew.

    Attributes:
        failed: whether the last result could not be kept.

    Args:
        path: the file; by default that of `place`.
        most: bytes of all results.
    """

    def __init__(self, path: Path | None = None, most: int = MOST) -> None:
        self.most = most
        self._path, self._said, self._lock = path, False, Lock()
        self._lost: set[str] = set()
        self.failed = False
        self._held: tuple[int, sqlite3.Connection] | None = None

    def get(self, digest: str) -> Arrays | None:
        """The result of a job, which is now the last to go; None where there is none."""
        return self._open(digest, READ, lambda store: self._read(store, digest))

    def put(self, digest: str, result: Mapping[str, np.ndarray]) -> None:
        """Keep a result of at most 16 MB, and drop others where they are too many. Raises ValueError for objects."""
        content = _packed(result)
        if len(content) > min(self.most, MAX_UNPACKED_BYTES):
            return
        row = digest, len(content), _checksum(digest, content)

        def write(store: sqlite3.Connection) -> None:
            store.execute("BEGIN IMMEDIATE")
            store.execute(f"REPLACE INTO results (digest, used, size, checksum) VALUES (?, {NEXT}, ?, ?)", row)
            store.execute("REPLACE INTO contents (digest, content) VALUES (?, ?)", (digest, content))
            store.execute(TOO_MANY, (self.most,))
            store.execute("COMMIT")

        self.failed = False
        self._open(digest, WRITE, write)
        self._lost.discard(digest)

    def lost(self, digest: str) -> bool:
        """Whether the result that was kept was damaged, as this process has found, and none was kept since."""
        return digest in self._lost

    def _read(self, store: sqlite3.Connection, digest: str) -> Arrays | None:
        found = store.execute(FIND, (digest,)).fetchone()
        if found is None:
            return None
        checksum, content = found
        try:
            if checksum != _checksum(digest, content):
                raise InvalidInput("this is not what was kept.")
            result = read_npz(content)
        except (InvalidInput, TypeError):  # a text or nothing instead of bytes
            self._lost.add(digest)
            return None
        with suppress(sqlite3.OperationalError):  # somebody else writes
            store.execute(f"UPDATE results SET used = {NEXT} WHERE digest = ?", (digest,))
        return result

    def _open(self, digest: str, wait: float, work: Callable[[sqlite3.Connection], Value]) -> Value | None:
        """What the work makes of the open store; None where it cannot be opened or is damaged.

        Opened every time, as the file may be deleted or replaced while the server runs.
        """
        try:
            path = self._path or place()
            path.parent.mkdir(parents=True, exist_ok=True)
            with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as store:
                identity = path.stat().st_ino
                try:
                    if not store.execute("SELECT 1 FROM sqlite_master WHERE name = 'dropped'").fetchone():
                        store.executescript(SETUP)
                    store.execute("PRAGMA synchronous = NORMAL")
                    self._hold(path, identity)
                    return work(store)
                except sqlite3.OperationalError:
                    raise
                except sqlite3.DatabaseError:
                    self._lost.add(digest)
                    self._set_aside(path, identity)
        except (sqlite3.OperationalError, OSError, RuntimeError) as error:  # the last where there is no home
            self._say(f"Results are not kept: {error}.")
        return None

    def _hold(self, path: Path, identity: int) -> None:
        """Leave the file open: who closes it last waits until the disk has all."""
        if self._held is None or self._held[0] != identity:
            self._held = identity, sqlite3.connect(path, check_same_thread=False)
            self._held[1].execute("SELECT count(*) FROM sqlite_master").fetchall()

    def _set_aside(self, path: Path, identity: int) -> None:
        """Put a damaged file where the next one does not meet it, unless another process has."""
        with self._lock:
            if path.stat().st_ino == identity:
                path.replace(path.with_name(f"{path.name}.damaged"))
                for ending in ("-wal", "-shm"):
                    path.with_name(path.name + ending).unlink(missing_ok=True)

    def _say(self, words: str) -> None:
        """Once, on stderr."""
        self.failed = True
        if not self._said:
            print(words, file=sys.stderr)
        self._said = True


def _packed(result: Mapping[str, np.ndarray]) -> bytes:
    """As a .npz file, which holds no objects."""
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        for name, array in result.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def _checksum(digest: str, content: bytes) -> bytes:
    return sha256(digest.encode() + content).digest()
