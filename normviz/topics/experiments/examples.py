"""Shipped results of the default settings, so that a page has a result before the first run.

One file per experiment holds the arrays that its report reads, by the digests of its jobs. A job whose data or version
has changed is not found; `make results` computes the files anew.
"""

import io
import lzma
from collections import UserDict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, cast

import numpy as np

import normviz
from normviz.data.bounds import MAX_UNPACKED_BYTES
from normviz.jobs.results import ArrayJob, Arrays, Results, name_result
from normviz.topics.experiments.experiment import Experiment
from normviz.topics.experiments.reports import Report
from normviz.topics.experiments.speed import SpeedTiming

EXAMPLES_FOLDER = Path(__file__).with_name("example_results")

MAX_EXAMPLE_BYTES = 300_000
"""Largest size of one file, in bytes."""

VERSION_KEY = "version"
"""Name of the array with the version of normviz that computed the file."""


class ExampleResults(NamedTuple):
    """The shipped results of an experiment by job, and the version of normviz that computed them."""

    version: str
    results: Results


def find_example(key: str, jobs: Sequence[ArrayJob]) -> ExampleResults | None:
    """Return the shipped results of these jobs of an experiment; None if one of them has no shipped result."""
    version, results = _read_example_file(key)
    names = [_shorten_job_digest(job) for job in jobs]
    if not all(name in results for name in names):
        return None
    return ExampleResults(version, {job: results[name] for job, name in zip(jobs, names, strict=True)})


def pack_results(experiment: Experiment, results: Results) -> bytes:
    """Pack results as the content of a shipped file, with only the arrays that the report on the default setting reads.

    Floats have single precision if the report stays the same, otherwise double. Raises ValueError if the report
    differs with both, or the file would be larger than `MAX_EXAMPLE_BYTES`.
    """
    setting = experiment.setting()
    recorded = {job: _ReadRecorder(arrays) for job, arrays in results.items()}
    expected = _collect_report_texts(experiment.report(setting, cast(Results, recorded)))
    read = {
        f"{_shorten_job_digest(job)} {name}": array
        for job, recorder in recorded.items()
        for name, array in recorder.data.items()
        if name in recorder.names
    }
    for precision in (np.float32, np.float64):
        content = _compress_arrays({name: _convert_floats(array, precision) for name, array in read.items()})
        _, found = unpack_results(content)
        if (
            _collect_report_texts(experiment.report(setting, {job: found[_shorten_job_digest(job)] for job in results}))
            == expected
        ):
            break
    else:
        raise ValueError(f"{experiment.key}: the report of what is packed is another one.")
    if len(content) > MAX_EXAMPLE_BYTES:
        raise ValueError(f"{experiment.key}: {len(content):,} bytes; at most {MAX_EXAMPLE_BYTES:,} would do.")
    return content


def _compress_arrays(arrays: Arrays) -> bytes:
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, **arrays | {VERSION_KEY: np.array(normviz.__version__)})
    return lzma.compress(out.getvalue())  # all arrays together: half the size of each by itself


def _convert_floats(array: np.ndarray, precision: type[np.floating]) -> np.ndarray:
    return array.astype(precision) if array.dtype.kind == "f" else array


def unpack_results(content: bytes) -> tuple[str, dict[str, Arrays]]:
    """Return normviz's version and the arrays of a shipped file by job digest; floats become float64."""
    found: dict[str, Arrays] = {}
    unpacked = lzma.LZMADecompressor().decompress(content, MAX_UNPACKED_BYTES)
    with np.load(io.BytesIO(unpacked), allow_pickle=False) as archive:
        for key in archive.files:
            name, _, array = key.partition(" ")
            if array:
                found.setdefault(name, {})[array] = _convert_floats(archive[key], np.float64)
        return str(archive[VERSION_KEY]), found


def get_example_path(key: str) -> Path:
    """Return the path of an experiment's shipped file, which need not exist."""
    return EXAMPLES_FOLDER / f"{key}.npz.xz"


@lru_cache(maxsize=32)
def _read_example_file(key: str) -> tuple[str, Mapping[str, Arrays]]:
    """Read the version and the arrays by job digest from an experiment's shipped file; both empty without a file."""
    path = get_example_path(key)
    return unpack_results(path.read_bytes()) if path.exists() else ("", {})


def _shorten_job_digest(job: ArrayJob) -> str:
    """Return the first 16 digits of a job's digest, which identify the job within an experiment.

    A job that names its machine has the same digits on every machine: times are shipped with the machine's name.
    """
    return name_result(replace(job, machine="") if isinstance(job, SpeedTiming) else job)[:16]


def _collect_report_texts(report: Report) -> tuple[Any, ...]:
    figures = [(shown.key, shown.alt, shown.caption) for shown in report.figures]
    return report.headline, report.verdict, dict(report.verdicts), figures


class _ReadRecorder(UserDict[str, np.ndarray]):
    """Arrays by name that record which of them are read."""

    def __init__(self, arrays: Arrays) -> None:
        super().__init__(arrays)
        self.names = {"share", "device"}  # which the page reads besides the report

    def __getitem__(self, name: str) -> np.ndarray:
        self.names.add(name)
        return super().__getitem__(name)

    def __contains__(self, name: object) -> bool:
        self.names.add(str(name))
        return super().__contains__(name)
