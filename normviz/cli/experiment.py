"""`normviz experiment` and `normviz sweep`: one experiment, or one at every combination of values."""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import fields
from functools import partial
from hashlib import sha256
from itertools import product
from math import isfinite
from typing import Any, NamedTuple, Never

from normviz.cli.setting_options import format_option_help
from normviz.core.errors import InvalidInput
from normviz.core.settings import CustomValue, Declaration, MultipleChoice, get_declarations
from normviz.data.output import format_json
from normviz.jobs.fallback import format_device_list
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.jobs.run import create_queue, run_missing_jobs
from normviz.jobs.spec import compute_digest
from normviz.topics.experiments.catalogue import ALIASES, EXPERIMENTS, get_experiment
from normviz.topics.experiments.experiment import Experiment


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the commands `experiment` and `sweep`: a name, and the options of its page."""
    parser.add_argument("words", nargs=argparse.REMAINDER, metavar="NAME [--KEY VALUE …] [--json]")


def run(arguments: argparse.Namespace) -> int:
    """Run an experiment or a sweep and print the results; without a name, list all experiments."""
    sweep = arguments.command == "sweep"
    if not arguments.words:
        print(format_experiment_list())
        return 0
    request = parse_words(arguments.words, is_sweep=sweep)
    archive = ResultArchive(ResultCache())
    found = run_settings(request, sys.stderr.isatty(), archive, partial(create_queue, archive))
    if request.as_json:
        print(format_json(found if sweep else found[0]))
    else:
        print("\n\n".join(map(format_experiment_record, found)))
    return 0


def run_settings(
    request: "CommandRequest", show_progress: bool, archive: ResultArchive, make_queue: Callable[[int], JobQueue]
) -> list[dict[str, Any]]:
    """Run the jobs without a cached result; return a record for every setting. Raises JobsFailed if a job fails.

    `make_queue` returns a queue for a number of jobs. If interrupted, finished jobs stay cached.
    """
    experiment = request.experiment
    jobs = dict.fromkeys(job for setting in request.settings for job in experiment.list_jobs(setting))
    run_missing_jobs([*jobs], archive, make_queue, show_progress)
    return [build_experiment_record(experiment, setting, archive) for setting in request.settings]


def build_experiment_record(experiment: Experiment, setting: Any, archive: ResultArchive) -> dict[str, Any]:
    """Return the setting, results and verdict of an experiment as plain data."""
    jobs = experiment.list_jobs(setting)
    found = archive.find_results(jobs)
    report = experiment.report(setting, found)
    configuration = {each.name: getattr(setting, each.name) for each in fields(setting)}
    return {
        "experiment": experiment.key,
        "configuration": configuration,
        "device": format_device_list(str(arrays["device"]) for arrays in found.values()),
        "digest": sha256("".join(map(compute_digest, jobs)).encode()).hexdigest(),
        "result": {name: [_convert_to_json(value) for value in column] for name, column in report.table.items()},
        "headline": report.headline,
        "verdict": report.verdict.word,
        "text": report.verdict.text,
        "says": report.verdict.says,
        "condition": report.verdict.condition,
    }


def _convert_to_json(value: Any) -> Any:
    """Convert a value to JSON types; numbers that are not finite become None."""
    return None if isinstance(value, float) and not isfinite(value) else value


def format_experiment_list() -> str:
    """Format one line for each experiment: name, question and claims."""
    return "\n".join(f"{key:16}{each.question}  [{', '.join(each.claims)}]" for key, each in EXPERIMENTS.items())


def format_experiment_record(result: dict[str, Any]) -> str:
    """Format the record of an experiment as lines of text."""
    lines = [result["headline"], f"{result['text']}: {result['says']}", result["condition"]]
    return "\n".join(line for line in lines if line)


class CommandRequest(NamedTuple):
    """Parsed command line: the experiment, the settings to run, and `as_json`, True to print JSON."""

    experiment: Experiment
    settings: list[Any]
    as_json: bool


def parse_words(words: Sequence[str], is_sweep: bool = False) -> CommandRequest:
    """Parse the words NAME --KEY VALUE … of the command line. Raises InvalidInput for unknown ones.

    `is_sweep`: an option has several values with commas between them; every combination is one setting.
    """
    name, *options = words
    experiment = get_experiment(name)
    declared = get_declarations(experiment.setting)
    parser = ExperimentParser(prog=f"normviz experiment {name}", allow_abbrev=False)
    parser.add_argument("--json", action="store_true")
    options_of = ALIASES[name].settings if name in ALIASES else {key: key for key in declared}
    for option, key in options_of.items():
        parser.add_argument(f"--{option.replace('_', '-')}", dest=key, help=format_option_help(declared[key]))
    found = {key: value for key, value in vars(parser.parse_args(options)).items() if value is not None}
    as_json = found.pop("json")
    choices = []
    for key, text in found.items():
        has_commas = isinstance(declared[key], MultipleChoice | CustomValue)  # in the text of one value
        one = has_commas or not is_sweep
        choices.append([_parse_value(declared[key], each) for each in ([text] if one else text.split(","))])
    settings = [experiment.setting(**dict(zip(found, values, strict=True))) for values in product(*choices)]
    return CommandRequest(experiment, settings, as_json)


def _parse_value(declared: Declaration, text: str) -> Any:
    """Parse the text of a setting's value; the setting checks its bounds later."""
    try:
        return declared.make_argparse_kwargs().get("type", str)(text)
    except ValueError as error:
        raise InvalidInput(
            f"--{declared.name} {text}: {declared.format_limits() or 'another value'} would do."
        ) from error


class ExperimentParser(argparse.ArgumentParser):
    """Parser of an experiment's options that raises InvalidInput for errors instead of exiting."""

    def error(self, message: str) -> Never:
        """Raise InvalidInput with the message, where argparse would print the usage and exit."""
        raise InvalidInput(f"{message} ({self.prog} takes the options of its page)")
