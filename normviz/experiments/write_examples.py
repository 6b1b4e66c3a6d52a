"""Compute the results that come with the package: `python -m normviz.experiments.write_examples [KEY …]`.

Everything is trained anew by the code as it is, whatever results are cached. Without a key, all experiments are run.
"""

import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from normviz.core.errors import InvalidInput
from normviz.experiments.catalogue import EXPERIMENTS, get_experiment
from normviz.experiments.command import Failed, run_missing
from normviz.experiments.examples import FOLDER, pack, path_of
from normviz.experiments.results import Archive
from normviz.jobs.desk import Desk
from normviz.jobs.executors import count_workers
from normviz.jobs.kept import Kept
from normviz.jobs.usual import usual_desk


def write_example(key: str) -> str:
    """Run an experiment with its default setting, write its file, and return a line on it.

    Raises:
        InvalidInput: no experiment has this key.
        Failed: a part has failed.
        ValueError: what `pack` raises.
    """
    experiment = get_experiment(key)
    parts = experiment.parts(experiment.setting())

    with TemporaryDirectory() as folder:
        archive = Archive(Kept(Path(folder) / "results.sqlite"))

        def desk(count: int) -> Desk:
            workers = min(count_workers(), count)
            return usual_desk(workers, workers, lambda part: not archive.missing([part]))

        run_missing(parts, archive, desk, sys.stderr.isatty())
        results = archive.of(parts)
    content = pack(experiment, results)
    FOLDER.mkdir(exist_ok=True)
    path_of(key).write_bytes(content)
    report = experiment.report(experiment.setting(), results)
    return f"{key}: {len(content):,} bytes. {report.headline} {report.verdict.word}."


def main(keys: Sequence[str]) -> int:
    """Write the files of these experiments, of all where none is named; return the exit code."""
    for key in keys or EXPERIMENTS:
        try:
            print(write_example(key), flush=True)
        except (InvalidInput, Failed, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
