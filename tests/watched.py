"""What a served app takes of the machine, read from Linux's /proc."""

import os
import time
from pathlib import Path


class Server:
    """The process that serves an address, and its workers."""

    def __init__(self, url):
        port = url.rpartition(":")[2].encode()
        lines = {
            path: path.read_bytes().split(b"\0") for path in Path("/proc").glob("[0-9]*/cmdline") if readable(path)
        }
        (self.folder,) = (path.parent for path, line in lines.items() if port in line and b"streamlit" in line)

    def peak(self):
        """The most bytes that the server or a worker has held, whichever has held more."""
        return max(read_bytes(folder, "VmHWM") for folder in self.list_folders())

    def held(self):
        """The bytes that the server holds, without its workers."""
        return read_bytes(self.folder, "VmRSS")

    def share(self):
        """The bytes that the server and its workers hold together; pages of several processes count once."""
        lines = [line for folder in self.list_folders() for line in (folder / "smaps_rollup").read_text().splitlines()]
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith("Pss:"))

    def busy(self, seconds=1.0):
        """Whether the server or a worker computes, as far as a busy machine lets it."""
        before = self.worked()
        time.sleep(seconds)
        return self.worked() - before > seconds / 20

    def worked(self):
        """The seconds of the processor that the server and the workers at this moment have taken."""
        ticks = [(folder / "stat").read_text().rpartition(")")[2].split()[11:13] for folder in self.list_folders()]
        return sum(int(each) for pair in ticks for each in pair) / os.sysconf("SC_CLK_TCK")

    def list_folders(self):
        """The folders in /proc of the server and of its workers."""
        workers = [number for path in self.folder.glob("task/*/children") for number in path.read_text().split()]
        return [self.folder, *(Path("/proc", number) for number in workers)]


def read_bytes(folder, name):
    """The bytes under a name in the status of a process."""
    lines = (folder / "status").read_text().splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith(name))


def readable(path):
    try:
        return bool(path.read_bytes())
    except OSError:
        return False
