"""Compute the shipped results: `python -m normviz.topics.experiments.write_examples [KEY …]`.

Everything is trained anew, whatever results are cached. Without a key, all experiments run.
"""

import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from normviz.core.errors import InvalidInput
from normviz.jobs.failures import JobsFailed
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.jobs.run import create_queue, run_missing_jobs
from normviz.topics.experiments.catalogue import EXPERIMENTS, get_experiment
from normviz.topics.experiments.examples import EXAMPLES_FOLDER, get_example_path, pack_results


def write_example(key: str) -> str:
    """Run an experiment with its default setting, write its shipped file, and return a line to print.

    Raises InvalidInput for an unknown key, JobsFailed if a job failed, and ValueError as `pack_results`.
    """
    experiment = get_experiment(key)
    jobs = experiment.list_jobs(experiment.setting())
    with TemporaryDirectory() as folder:
        archive = ResultArchive(ResultCache(Path(folder) / "results.sqlite"))
        run_missing_jobs(jobs, archive, partial(create_queue, archive), sys.stderr.isatty())
        results = archive.find_results(jobs)
    content = pack_results(experiment, results)
    EXAMPLES_FOLDER.mkdir(exist_ok=True)
    get_example_path(key).write_bytes(content)
    report = experiment.report(experiment.setting(), results)
    return f"{key}: {len(content):,} bytes. {report.headline} {report.verdict.word}."


def main(keys: Sequence[str]) -> int:
    """Write the shipped files of the experiments in `keys`, or of all if it is empty; return the exit code."""
    for key in keys or EXPERIMENTS:
        try:
            print(write_example(key), flush=True)
        except (InvalidInput, JobsFailed, ValueError) as error:
            print(error, file=sys.stderr)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
