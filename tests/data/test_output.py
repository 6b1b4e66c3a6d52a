"""Files are written completely or not at all, whatever the path leads to and whatever fails on the way."""

import errno
import os
import stat
import tempfile
import threading
from pathlib import Path

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.data.output import encode_npy, write_file, write_npy

CONTENT = bytes(range(256)) * 300
BEFORE = b"the result of an earlier run"


def listing(folder):
    return sorted(path.name for path in folder.iterdir())


def mode(path):
    return stat.S_IMODE(path.stat().st_mode)


def test_a_npy_file_reads_back(tmp_path):
    x = np.arange(6.0).reshape(1, 2, 3)
    write_npy(tmp_path / "x", x)
    np.testing.assert_array_equal(np.load(tmp_path / "x"), x)
    assert listing(tmp_path) == ["x"]  # and not x.npy, as numpy.save would name it
    assert (tmp_path / "x").read_bytes() == encode_npy(x)


# --- failures -----------------------------------------------------------------------------------------------------


def half_written(descriptor, data, write=os.write):
    """Write a part, then refuse, as a disk does that runs full."""
    if len(data) < len(CONTENT):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
    return write(descriptor, data[:100])


def refuse(*_, **__):
    raise OSError(errno.EIO, os.strerror(errno.EIO))


FAILURES = {
    "write": (half_written, "No space left on device"),
    "fsync": (refuse, "Input/output error"),
    "replace": (refuse, "Input/output error"),
}


@pytest.mark.parametrize("before", [None, BEFORE], ids=["new", "existing"])
@pytest.mark.parametrize("step", FAILURES)
def test_a_failure_at_any_step_leaves_nothing_behind(step, before, tmp_path, monkeypatch):
    path = tmp_path / "out.npy"
    if before is not None:
        path.write_bytes(before)
    there = listing(tmp_path)
    failing, words = FAILURES[step]
    monkeypatch.setattr(os, step, failing)
    with pytest.raises(InvalidInput, match=rf"out.npy cannot be written: {words}\."):
        write_file(path, CONTENT)
    assert listing(tmp_path) == there
    assert before is None or path.read_bytes() == before


def test_an_interruption_leaves_nothing_behind(tmp_path, monkeypatch):
    def interrupt(_):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "fsync", interrupt)
    with pytest.raises(KeyboardInterrupt):
        write_file(tmp_path / "out.npy", CONTENT)
    assert listing(tmp_path) == []


def test_the_bytes_are_on_the_disk_before_the_name_is(tmp_path, monkeypatch):
    path, steps, fsync, replace = tmp_path / "out", [], os.fsync, os.replace
    monkeypatch.setattr(os, "fsync", lambda fd: (steps.append(("fsync", path.exists())), fsync(fd)))
    monkeypatch.setattr(os, "replace", lambda a, b: (steps.append(("replace", path.exists())), replace(a, b)))
    write_file(path, CONTENT)
    assert steps == [("fsync", False), ("replace", False), ("fsync", True)]  # the last one of the folder


# --- names --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a" * 255, "é" * 127 + "a", "a" * 251 + ".npy"])
def test_the_longest_name_works(name, tmp_path):
    assert len(name.encode()) == 255
    write_file(tmp_path / name, CONTENT)
    assert listing(tmp_path) == [name]


def test_a_name_that_is_too_long_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot be written: File name too long\."):
        write_file(tmp_path / ("a" * 256), CONTENT)
    assert listing(tmp_path) == []


# --- permissions --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("umask", [0o022, 0o077, 0o002])
def test_a_new_file_has_the_permissions_of_any_new_file(umask, tmp_path):
    before = os.umask(umask)
    try:
        write_file(tmp_path / "out", CONTENT)
    finally:
        os.umask(before)
    assert mode(tmp_path / "out") == 0o666 & ~umask


@pytest.mark.parametrize("bits", [0o600, 0o640, 0o666, 0o755])
def test_an_existing_file_keeps_its_permissions(bits, tmp_path):
    path = tmp_path / "out"
    path.write_bytes(BEFORE)
    path.chmod(bits)
    write_file(path, CONTENT)
    assert (path.read_bytes(), mode(path)) == (CONTENT, bits)


@pytest.fixture
def unprivileged():
    """A folder of a user who is not root, as whom the test goes on."""
    with tempfile.TemporaryDirectory() as name:
        if os.geteuid():
            yield Path(name)
            return
        os.chown(name, 65534, 65534)
        os.seteuid(65534)
        try:
            yield Path(name)
        finally:
            os.seteuid(0)


def test_a_write_protected_file_is_not_replaced(unprivileged):
    path = unprivileged / "out"
    path.write_bytes(BEFORE)
    path.chmod(0o444)
    with pytest.raises(InvalidInput, match=r"out cannot be written: Permission denied\."):
        write_file(path, CONTENT)
    assert (listing(unprivileged), path.read_bytes()) == (["out"], BEFORE)


def test_a_folder_that_may_not_be_written_is_told(unprivileged):
    unprivileged.chmod(0o555)
    with pytest.raises(InvalidInput, match=r"out cannot be written: Permission denied\."):
        write_file(unprivileged / "out", CONTENT)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_file_of_another_user_stays_theirs(tmp_path):
    path = tmp_path / "out"
    path.write_bytes(BEFORE)
    os.chown(path, 65534, 65534)
    write_file(path, CONTENT)
    assert (path.stat().st_uid, path.stat().st_gid, path.read_bytes()) == (65534, 65534, CONTENT)


# --- links, pipes, devices ----------------------------------------------------------------------------------------


def test_a_link_keeps_pointing_to_the_file_that_is_written(tmp_path):
    (tmp_path / "folder").mkdir()
    real = tmp_path / "folder" / "real"
    real.write_bytes(BEFORE)
    (tmp_path / "second").symlink_to("folder/real")
    (tmp_path / "first").symlink_to("second")
    write_file(tmp_path / "first", CONTENT)
    assert os.readlink(tmp_path / "first") == "second"
    assert os.readlink(tmp_path / "second") == "folder/real"
    assert real.read_bytes() == CONTENT
    assert listing(tmp_path / "folder") == ["real"]


def test_a_link_to_nothing_makes_the_file_that_it_points_to(tmp_path):
    (tmp_path / "link").symlink_to("real")
    write_file(tmp_path / "link", CONTENT)
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == CONTENT


def test_links_in_a_circle_are_refused(tmp_path):
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    with pytest.raises(InvalidInput, match=r"a cannot be written: Too many levels of symbolic links\."):
        write_file(tmp_path / "a", CONTENT)
    assert listing(tmp_path) == ["a", "b"]


def test_a_pipe_is_written_and_stays_a_pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    read = []
    reader = threading.Thread(target=lambda: read.append(path.read_bytes()), daemon=True)
    reader.start()
    write_file(path, CONTENT)
    reader.join(timeout=20)
    assert read == [CONTENT]
    assert path.is_fifo()


def test_a_pipe_whose_reader_goes_is_no_file_that_cannot_be_written(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    threading.Thread(target=lambda: os.close(os.open(path, os.O_RDONLY)), daemon=True).start()
    with pytest.raises(BrokenPipeError):
        write_file(path, CONTENT * 9)


# Devices are reached by links, so that a fault replaces the link, and not the system's device.


def test_a_full_device_is_told_and_stays(tmp_path):
    (tmp_path / "full").symlink_to("/dev/full")
    with pytest.raises(InvalidInput, match=r"full cannot be written: No space left on device\."):
        write_file(tmp_path / "full", CONTENT)
    assert (tmp_path / "full").is_char_device()
    assert os.readlink(tmp_path / "full") == "/dev/full"


def test_a_device_takes_the_bytes_and_stays(tmp_path):
    (tmp_path / "null").symlink_to("/dev/null")
    write_file(tmp_path / "null", CONTENT)
    assert os.readlink(tmp_path / "null") == "/dev/null"
    assert listing(tmp_path) == ["null"]


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(InvalidInput, match=r"cannot be written: Is a directory\."):
        write_file(tmp_path, CONTENT)
