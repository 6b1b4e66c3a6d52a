"""What a served app takes of the machine, read from Linux's /proc."""

import os
import time
from pathlib import Path


class Server:
    """The process that serves an address."""

    def __init__(self, url):
        port = url.rpartition(":")[2].encode()
        lines = {
            path: path.read_bytes().split(b"\0") for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path)
        }
        (self.folder,) = (path.parent for path, line in lines.items() if port in line and b"streamlit" in line)

    def peak(self):
        """The most bytes that it has held."""
        return self._said("VmHWM")

    def held(self):
        """The bytes that it holds."""
        return self._said("VmRSS")

    def busy(self, seconds=1.0):
        """Whether it computes, as far as a busy machine lets it."""
        before = self.worked()
        time.sleep(seconds)
        return self.worked() - before > seconds / 20

    def worked(self):
        """The seconds of the processor that it has taken."""
        return sum(map(int, (self.folder / "stat").read_text().rpartition(")")[2].split()[11:13])) / os.sysconf(
            "SC_CLK_TCK"
        )

    def _said(self, name):
        lines = (self.folder / "status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def readable(path):
    try:
        return bool(path.read_bytes())
    except OSError:
        return False
