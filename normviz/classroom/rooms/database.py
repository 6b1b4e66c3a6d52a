"""The database of classes: an SQLite file, or PostgreSQL for several servers."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from sqlalchemy import (
    URL,
    Boolean,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    create_engine,
    event,
    make_url,
    text,
)
from sqlalchemy.exc import ArgumentError, SQLAlchemyError

from normviz.core.errors import InvalidInput
from normviz.jobs.result_cache import find_results_path

DATABASE_VARIABLE = "NORMVIZ_DATABASE"
"""The environment variable that holds the URL of the database."""

BUSY_SECONDS = 10
"""Seconds that a transaction waits for one of another process, or for a connection."""

DATABASE_ERRORS = (SQLAlchemyError, OSError)
"""Errors of a database that does not answer."""

SETUP_LOCK = 1_315_926_089
"""Key of PostgreSQL's advisory lock that a server holds while it creates the tables."""

METADATA = MetaData()

CLASSES = Table(
    "classes",
    METADATA,
    Column("code", String(8), primary_key=True),
    Column("secret", String(64), nullable=False),
    Column("opened", Double, nullable=False),
    Column("version", Integer, nullable=False),
    Column("number", Integer, nullable=False),
    Column("question", Text),
    Column("closed", Boolean, nullable=False),
    Column("revealed", Boolean, nullable=False),
    Column("pace", Text, nullable=False),
    Index("classes_by_age", "opened"),
)
"""Classes: the digest of the secret, and the current question with its number; `version` counts the changes."""

ANSWERS = Table(
    "answers",
    METADATA,
    Column("code", ForeignKey(CLASSES.c.code, ondelete="CASCADE"), primary_key=True),
    Column("device", String(32), primary_key=True),
    Column("choice", Integer, nullable=False),
)
"""Answers to the current question of each class, one a device."""

SNAPSHOTS = Table(
    "snapshots",
    METADATA,
    Column("id", Integer, primary_key=True, autoincrement=True),
    Column("code", ForeignKey(CLASSES.c.code, ondelete="CASCADE"), nullable=False, index=True),
    Column("device", String(32), nullable=False),
    Column("link", Text, nullable=False),
)
"""Links that students sent."""


def read_database_url(environment: Mapping[str, str]) -> URL:
    """Return the URL of the database that the environment names, by default of a file beside the result cache.

    >>> read_database_url({"NORMVIZ_DATABASE": "postgresql://db.example.edu/normviz"}).drivername
    'postgresql+psycopg'

    Raises:
        InvalidInput: the variable holds no URL of PostgreSQL or SQLite.
    """
    given = environment.get(DATABASE_VARIABLE)
    if not given:
        return URL.create("sqlite", database=str(find_results_path().with_name("classes.sqlite")))
    try:
        url = make_url(given)
    except (ArgumentError, ValueError):
        url = None
    backend = url and url.get_backend_name()
    is_complete = url and (url.database or (backend == "postgresql" and url.host))  # PostgreSQL has a default database
    if url is None or backend not in ("postgresql", "sqlite") or not is_complete:
        raise InvalidInput(  # without what came, which may hold a password
            f"{DATABASE_VARIABLE} is a URL, postgresql://user:password@host/name or sqlite:////folder/file; "
            "it is something else."
        )
    return url.set(drivername="postgresql+psycopg") if backend == "postgresql" else url


class Database:
    """Connections to the database of classes, for any number of threads; missing tables are created."""

    def __init__(self, url: URL) -> None:
        self.is_sqlite = url.get_backend_name() == "sqlite"
        if self.is_sqlite:
            os.makedirs(os.path.dirname(os.path.abspath(url.database or "")), exist_ok=True)
        self._engine = _create_sqlite_engine(url) if self.is_sqlite else _create_postgres_engine(url)
        self._writer = self._engine.execution_options(writes=True)
        with self.begin_write() as connection:
            if not self.is_sqlite:
                connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": SETUP_LOCK})
            METADATA.create_all(connection)

    @contextmanager
    def begin_read(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that only reads."""
        with self._engine.begin() as connection:
            yield connection

    @contextmanager
    def begin_write(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that writes, committed at the end of the `with` block."""
        with self._writer.begin() as connection:
            yield connection

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()


def _create_sqlite_engine(url: URL) -> Engine:
    """Return the engine of an SQLite file with a write-ahead log; writing transactions lock it from their start."""
    engine = create_engine(url, connect_args={"timeout": BUSY_SECONDS})

    @event.listens_for(engine, "connect")
    def set_up(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # the driver begins no transaction by itself
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA foreign_keys = ON")

    @event.listens_for(engine, "begin")
    def begin(connection: Connection) -> None:
        writes = connection.get_execution_options().get("writes")
        connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

    return engine


def _create_postgres_engine(url: URL) -> Engine:
    """Return the engine of a PostgreSQL server; a connection that the server closed is opened again."""
    return create_engine(
        url, pool_size=4, max_overflow=4, pool_timeout=BUSY_SECONDS, pool_pre_ping=True,
        connect_args={"connect_timeout": 5},
    )  # fmt: skip
