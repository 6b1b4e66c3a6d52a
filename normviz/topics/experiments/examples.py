"""Results of the default settings that come with the package, so that a page has a result before anything is run.

One file an experiment holds the arrays that its report reads, by the digests of its parts. A part whose data or version
has changed is not found, and `make results` computes the file anew.
"""

import io
import lzma
from collections import UserDict
from collections.abc import Mapping, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

import normviz
from normviz.data.bounds import MAX_UNPACKED_BYTES
from normviz.jobs.results import Arrays, Part, Results, name_result
from normviz.topics.experiments.experiment import Experiment
from normviz.topics.experiments.reports import Report

FOLDER = Path(__file__).with_name("example_results")
"""Where the files are."""

MAX_BYTES = 300_000
"""The most bytes of one file."""

VERSION = "version"
"""The name of the array that holds the version of normviz that computed a file."""

NEEDED = ("share", "device")
"""Arrays of a result that the page reads besides the report."""


class Example(NamedTuple):
    """The results of a setting as they come with the package.

    Attributes:
        version: of normviz, which computed them.
        results: by part.
    """

    version: str
    results: Results


def find_example(key: str, parts: Sequence[Part]) -> Example | None:
    """Return the shipped results of these parts of an experiment; None where one of them is not there."""
    version, results = _read(key)
    names = [_name(part) for part in parts]
    if not all(name in results for name in names):
        return None
    return Example(version, {part: results[name] for part, name in zip(parts, names, strict=True)})


def pack(experiment: Experiment, results: Results) -> bytes:
    """Return the file of an experiment, with what its report reads of the results of its default setting.

    Floats are in single precision if the report of the file is then the same, otherwise in double. Raises ValueError
    where it is another one in both, or the file would be larger than MAX_BYTES.
    """
    setting = experiment.setting()
    recorded = {part: _Recorder(arrays) for part, arrays in results.items()}
    expected = _words(experiment.report(setting, cast(Results, recorded)))
    read = {
        f"{_name(part)} {name}": array
        for part, recorder in recorded.items()
        for name, array in recorder.data.items()
        if name in recorder.names
    }
    for precision in (np.float32, np.float64):
        content = _compress({name: _convert(array, precision) for name, array in read.items()})
        _, found = unpack(content)
        if _words(experiment.report(setting, {part: found[_name(part)] for part in results})) == expected:
            break
    else:
        raise ValueError(f"{experiment.key}: the report of what is packed is another one.")
    if len(content) > MAX_BYTES:
        raise ValueError(f"{experiment.key}: {len(content):,} bytes; at most {MAX_BYTES:,} would do.")
    return content


def _compress(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays | {VERSION: np.array(normviz.__version__)})
    return lzma.compress(out.getvalue())  # all arrays together: half the size of each by itself


def _convert(array: np.ndarray, precision: type[np.floating]) -> np.ndarray:
    return array.astype(precision) if array.dtype.kind == "f" else array


def unpack(content: bytes) -> tuple[str, dict[str, Arrays]]:
    """Return the version and the results in a file, by the names of the parts; floats in double precision."""
    found: dict[str, Arrays] = {}
    unpacked = lzma.LZMADecompressor().decompress(content, MAX_UNPACKED_BYTES)
    with np.load(io.BytesIO(unpacked), allow_pickle=False) as archive:
        for key in archive.files:
            name, _, array = key.partition(" ")
            if array:
                found.setdefault(name, {})[array] = _convert(archive[key], np.float64)
        return str(archive[VERSION]), found


def path_of(key: str) -> Path:
    """Return the path of an experiment's file."""
    return FOLDER / f"{key}.npz.xz"


@lru_cache(maxsize=32)
def _read(key: str) -> tuple[str, Mapping[str, Arrays]]:
    """Return what `unpack` does of an experiment's file; nothing where there is none."""
    path = path_of(key)
    return unpack(path.read_bytes()) if path.exists() else ("", {})


def _name(part: Part) -> str:
    """Return the beginning of a part's digest, which is enough to tell the parts of an experiment apart."""
    return name_result(part)[:16]


def _words(report: Report) -> tuple[Any, ...]:
    """Return all sentences of a report."""
    figures = [(shown.key, shown.alt, shown.caption) for shown in report.figures]
    return report.headline, report.verdict, dict(report.verdicts), figures


class _Recorder(UserDict[str, np.ndarray]):
    """Arrays by name that record which of them are read."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.names = {*NEEDED}

    def __getitem__(self, name: str) -> np.ndarray:
        self.names.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)
