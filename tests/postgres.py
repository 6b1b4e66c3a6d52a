"""A PostgreSQL server of its own, in a folder that is deleted with it."""

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

INSTALLED = next(
    (folder for folder in map(Path, os.environ["PATH"].split(":")) if (folder / "pg_ctl").exists()), None
) or next(iter(sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)), None)
"""The folder of pg_ctl and initdb; Debian keeps it off the PATH."""


@contextmanager
def serving_postgres() -> Iterator[str]:
    """Run a server until the block ends; gives the URL of a database."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    folder = tempfile.mkdtemp(prefix="normviz-postgres-")
    user = "nobody" if os.geteuid() == 0 else None  # PostgreSQL refuses to run as root
    if user:
        shutil.chown(folder, user)

    def run(program: str, *options: str) -> None:
        command = [INSTALLED / program, "-D", f"{folder}/data", *options]
        done = subprocess.run(
            command, user=user, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        )
        assert done.returncode == 0, done.stdout

    try:
        run("initdb", "-U", "normviz", "-A", "trust", "--no-sync", "--locale=C", "--encoding=UTF8")
        listen = f"-c listen_addresses=127.0.0.1 -c port={port} -c unix_socket_directories={folder} -c fsync=off"
        run("pg_ctl", "-w", "-l", f"{folder}/log", "-o", listen, "start")
        try:
            yield f"postgresql://normviz@127.0.0.1:{port}/postgres"
        finally:
            run("pg_ctl", "-m", "immediate", "stop")
    finally:
        shutil.rmtree(folder)
