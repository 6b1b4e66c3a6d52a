"""Results on disk, by the digest of their job, shared by all processes and kept over a restart."""

import io
import os
import sqlite3
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from hashlib import sha256
from pathlib import Path
from threading import Lock
from typing import TypeVar
from zipfile import ZipFile

import numpy as np

from normviz.core.cache_folder import find_cache_folder
from normviz.core.errors import InvalidInput
from normviz.data.bounds import MAX_ARRAYS, MAX_UNPACKED_BYTES
from normviz.data.files import read_npz

Value = TypeVar("Value")
Arrays = dict[str, np.ndarray]

RESULTS_VARIABLE = "NORMVIZ_RESULTS"
"""The environment variable that holds the path of the file."""

DEFAULT_MAX_BYTES = 2**28
"""Bytes of all results by default."""

READ_TIMEOUT, WRITE_TIMEOUT = 0.5, 10.0
"""Seconds that a reader and a writer wait for a process that writes; a page waits for the reader."""

MAX_ROW_BYTES = MAX_UNPACKED_BYTES + 2**16
"""The largest row that SQLite loads or writes: a result, its digest and its checksum."""

ATTEMPTS = 3
"""Attempts to open the file, which another process may replace at the same time."""

SETUP_SQL = """
    PRAGMA journal_mode = WAL;
    CREATE TABLE IF NOT EXISTS results (digest TEXT PRIMARY KEY, used INTEGER, size INTEGER, checksum BLOB);
    CREATE TABLE IF NOT EXISTS contents (digest TEXT PRIMARY KEY, content BLOB);
    CREATE INDEX IF NOT EXISTS by_use ON results (used, size);
    CREATE TRIGGER IF NOT EXISTS dropped AFTER DELETE ON results
    BEGIN DELETE FROM contents WHERE digest = old.digest; END;
"""
"""The tables. A use is recorded in a table of its own, since SQLite would write the content again."""

FIND_SQL = "SELECT checksum, content FROM results LEFT JOIN contents USING (digest) WHERE digest = ?"
NEXT_USE_SQL = "(SELECT coalesce(max(used), 0) + 1 FROM results)"
"""Uses are numbered, as clocks may be set back."""

EVICT_SQL = """
    DELETE FROM results WHERE digest IN
    (SELECT digest FROM (SELECT digest, sum(size) OVER (ORDER BY used DESC) AS total FROM results) WHERE total > ?)
"""


def find_results_path() -> Path:
    """Return the path of the result cache's file, from the environment or in the user's cache folder."""
    named = os.environ.get(RESULTS_VARIABLE)
    return Path(named) if named else find_cache_folder() / "results.sqlite"


class DamagedFile(Exception):  # noqa: N818 - the name says what it is
    """Error for a cache file that is damaged or incomplete, with its inode; `is_empty`: it has no content."""

    def __init__(self, inode: int, is_empty: bool) -> None:
        super().__init__("the file is damaged")
        self.inode, self.is_empty = inode, is_empty


class ResultCache:
    """Cache of results on disk, an SQLite file of bounded size, for any number of threads and processes.

    The least recently used results are dropped first. If nothing can be written, as on a full disk, the cache prints
    that once on stderr and is empty. A damaged result counts as missing. A damaged file is renamed, with a line on
    stderr, and a new one is begun.

    `failed` is True if the last result could not be written. The default path is `find_results_path()`; `max_bytes` is
    the size of all results.
    """

    def __init__(self, path: Path | None = None, max_bytes: int = DEFAULT_MAX_BYTES) -> None:
        self.max_bytes = max_bytes
        self._path, self._has_reported, self._lock = path, False, Lock()
        self._damaged: set[str] = set()
        self.failed = False
        self._held: tuple[int, sqlite3.Connection] | None = None

    def get(self, digest: str) -> Arrays | None:
        """Return the result of the job with this digest, or None if it is not in the cache."""
        return self.get_all([digest]).get(digest)

    def get_all(self, digests: Sequence[str]) -> dict[str, Arrays]:
        """Map each of these digests that is in the cache to its result; the file is opened once for all."""

        def read(store: sqlite3.Connection) -> dict[str, Arrays]:
            found = {digest: self._read_result(store, digest) for digest in digests}
            return {digest: result for digest, result in found.items() if result is not None}

        return (self._run_on_database(digests[0], READ_TIMEOUT, read) or {}) if digests else {}

    def put(self, digest: str, result: Mapping[str, np.ndarray]) -> None:
        """Store a result by digest; drop the oldest ones beyond `max_bytes`. Raises ValueError for object arrays.

        A result that is too large for `read_npz` is not stored.
        """
        if len(result) > MAX_ARRAYS or sum(np.asarray(array).nbytes for array in result.values()) > MAX_UNPACKED_BYTES:
            return
        content = _pack_result(result)
        if len(content) > min(self.max_bytes, MAX_UNPACKED_BYTES):
            return
        row = digest, len(content), _compute_checksum(digest, content)

        def write(store: sqlite3.Connection) -> None:
            store.execute("BEGIN IMMEDIATE")
            store.execute(f"REPLACE INTO results (digest, used, size, checksum) VALUES (?, {NEXT_USE_SQL}, ?, ?)", row)
            store.execute("REPLACE INTO contents (digest, content) VALUES (?, ?)", (digest, content))
            store.execute(EVICT_SQL, (self.max_bytes,))
            store.execute("COMMIT")

        self.failed = False
        self._run_on_database(digest, WRITE_TIMEOUT, write)
        self._damaged.discard(digest)

    def is_damaged(self, digest: str) -> bool:
        """Return True if the result with this digest was found damaged and has not been stored again."""
        return digest in self._damaged

    def _read_result(self, store: sqlite3.Connection, digest: str) -> Arrays | None:
        try:
            found = store.execute(FIND_SQL, (digest,)).fetchone()
            if found is None:
                return None
            checksum, content = found
            if checksum != _compute_checksum(digest, content):
                raise InvalidInput("this is not what was kept.")
            result = read_npz(content)
        except (InvalidInput, TypeError, sqlite3.DataError):  # NULL instead of bytes, or a row beyond the limit
            self._damaged.add(digest)
            return None
        with suppress(sqlite3.OperationalError):  # another process writes
            store.execute(f"UPDATE results SET used = {NEXT_USE_SQL} WHERE digest = ?", (digest,))
        self._damaged.discard(digest)
        return result

    def _run_on_database(self, digest: str, wait: float, work: Callable[[sqlite3.Connection], Value]) -> Value | None:
        """Return `work(database)` for the result of `digest`, or None on failure; `wait`: seconds to wait for a lock.

        A damaged file is renamed first, and this digest counts as damaged. The file is opened for every call, since it
        may be replaced while the server runs.
        """
        try:
            path = self._path or find_results_path()
            path.parent.mkdir(parents=True, exist_ok=True)
            for _ in range(ATTEMPTS):
                try:
                    return self._run_on_file(path, wait, work)
                except DamagedFile as damage:
                    self._damaged.add(digest)
                    _rename_damaged_file(path, damage, wait)
            raise OSError("one damaged file follows another")
        except (sqlite3.Error, OSError, RuntimeError) as error:  # RuntimeError if there is no home folder
            self._report_once(f"Results cannot be cached: {error}.")
        return None

    def _run_on_file(self, path: Path, wait: float, work: Callable[[sqlite3.Connection], Value]) -> Value:
        """Return `work(database)` for the file at `path`. Raises DamagedFile or errors of SQLite."""
        if not path.exists():
            path.touch()
        inode = path.stat().st_ino
        if _is_emptied(path):
            raise DamagedFile(inode, is_empty=True)
        with closing(sqlite3.connect(path, timeout=wait, isolation_level=None)) as store:
            try:
                store.text_factory = bytes  # a damaged text may not be UTF-8
                store.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, MAX_ROW_BYTES)
                if not _is_set_up(store):
                    with _hold_file_lock(path, wait):
                        _check_file_is_current(path, inode)
                        if not _is_set_up(store):
                            store.executescript(SETUP_SQL)
                _check_file_is_current(path, inode)
                store.execute("PRAGMA synchronous = NORMAL")
                self._hold_file_open(path, inode)
                return work(store)
            except sqlite3.Error as error:
                if _is_emptied(path):  # emptied since it was opened: SQLite finds it locked
                    raise DamagedFile(inode, is_empty=True) from error
                if _is_damage(error):
                    raise DamagedFile(inode, is_empty=False) from error
                raise

    def _hold_file_open(self, path: Path, inode: int) -> None:
        """Hold a connection open, because closing the last one waits until everything is on the disk."""
        if self._held is None or self._held[0] != inode:
            self._held = inode, sqlite3.connect(path, check_same_thread=False)
            self._held[1].execute("SELECT count(*) FROM sqlite_master").fetchall()

    def _report_once(self, message: str) -> None:
        """Mark the cache as failed, and print the first of such messages on stderr."""
        self.failed = True
        if not self._has_reported:
            print(message, file=sys.stderr)
        self._has_reported = True


@contextmanager
def _hold_file_lock(path: Path, wait: float) -> Iterator[None]:
    """Hold the cache's lock in the block, in which its file is created or renamed; `wait`: seconds.

    SQLite locks an empty file beside it: this works on every platform, and a process that dies unlocks it.
    """
    with closing(sqlite3.connect(path.with_name(f"{path.name}.lock"), timeout=wait, isolation_level=None)) as lock:
        lock.execute("BEGIN EXCLUSIVE")
        yield


def _rename_damaged_file(path: Path, damage: DamagedFile, wait: float) -> None:
    """Rename the file with this `damage` to NAME.damaged, unless another process has; `wait`: seconds for its lock."""
    with _hold_file_lock(path, wait):
        if not path.exists() or path.stat().st_ino != damage.inode or (damage.is_empty and not _is_emptied(path)):
            return
        aside = path.with_name(f"{path.name}.damaged")
        path.replace(aside)  # before its log is deleted: SQLite ignores the log of a moved file
        for ending in ("-wal", "-shm"):
            path.with_name(path.name + ending).unlink(missing_ok=True)
        print(f"Cached results were damaged: {path} is now {aside.name}, and a new file is begun.", file=sys.stderr)


def _check_file_is_current(path: Path, inode: int) -> None:
    """Raise DamagedFile if another process has renamed the file since its `inode` was read."""
    if not path.exists() or path.stat().st_ino != inode:
        raise DamagedFile(inode, is_empty=False)


def _is_set_up(store: sqlite3.Connection) -> bool:
    """Return True if the database has its tables and its trigger, which is created last."""
    return store.execute("SELECT 1 FROM sqlite_master WHERE name = 'dropped'").fetchone() is not None


def _is_emptied(path: Path) -> bool:
    """Return True if a file is empty but was a database, which shows in its index file that still exists.

    SQLite finds such a file locked while other processes have it open. A new file has no index before its content.
    """
    return path.stat().st_size == 0 and path.with_name(f"{path.name}-shm").exists()


def _is_damage(error: sqlite3.Error) -> bool:
    """Return True if an error is due to the file's content rather than a lock, the disk or permissions."""
    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_OK)
    kind = code & 0xFF  # the other bits give details
    return kind in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB) or code == sqlite3.SQLITE_IOERR_SHORT_READ


def _pack_result(result: Mapping[str, np.ndarray]) -> bytes:
    """Return a result as the bytes of an .npz file without objects."""
    out = io.BytesIO()
    with ZipFile(out, "w") as archive:
        for name, array in result.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as part:
                np.lib.format.write_array(part, np.asarray(array), allow_pickle=False)
    return out.getvalue()


def _compute_checksum(digest: str, content: bytes) -> bytes:
    return sha256(digest.encode() + content).digest()
