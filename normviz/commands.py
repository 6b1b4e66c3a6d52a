"""What the subcommands of `normviz` do, each given the parsed command line; gives the exit code, None for 0."""

import argparse
import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

import normviz
from normviz.core.backward import backward
from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.core.settings import build
from normviz.data.bounds import MAX_UNPACKED_BYTES
from normviz.data.files import as_tensor, read_npy, read_npz
from normviz.data.output import print_message, write_npy
from normviz.gradients.answers import ANSWERS, judge
from normviz.networks.setting import Setting

if TYPE_CHECKING:
    from normviz.experiments.results import Archive
    from normviz.jobs.desk import Desk
    from normviz.table1.table import Cell


def scheme_record(scheme: Scheme) -> dict[str, Any]:
    """A scheme as plain data: what `normviz schemes --json` prints of it."""
    named = {
        name: None if field is None else field.named(scheme.axes)
        for name, field in (
            ("summation", scheme.summation),
            ("suppression", scheme.suppression),
        )
    }
    return {
        "key": scheme.key,
        "name": scheme.name,
        "acts_on": scheme.acts_on,
        **named,
        "pointwise": scheme.pointwise,
        "eps": scheme.eps,
        "gain": scheme.gain,
        "bias": scheme.bias,
        "threshold": scheme.threshold,
        "keeps": scheme.keeps,
        "weight": scheme.weight,
        "about": scheme.about,
        "reference": scheme.reference.text,
        "url": scheme.reference.url,
        "also": [{"reference": each.text, "url": each.url} for each in scheme.also],
    }


def list_schemes(arguments: argparse.Namespace) -> None:
    """Print every scheme, as JSON or as a table."""
    records = [scheme_record(scheme) for scheme in SCHEMES.values()]
    if arguments.json:
        print(json.dumps(records, ensure_ascii=False, indent=2))
        return
    for record, scheme in zip(records, SCHEMES.values(), strict=True):
        named = {name: record[name] for name in ("summation", "suppression") if record[name]}
        fields = [f"{name} {','.join(rules.values())}" for name, rules in named.items()]
        fields += [f"pointwise {record['pointwise']}"] if record["pointwise"] else []
        print(f"{record['key']:24}{record['acts_on']:12}{'; '.join(fields) or '–'}")
        print(f"{'':24}{'; also '.join(each.text for each in scheme.references)}")


def chosen_scheme(key: str, arguments: argparse.Namespace) -> Scheme:
    """The scheme of that key with the parameters, and for the custom one the rules and the front, that were given."""
    scheme = get_scheme(key, arguments.groups, arguments.radius, getattr(arguments, "alpha", None))
    if scheme.key != "custom":
        return scheme
    if arguments.field is not None:
        field = Field.parse(arguments.field, scheme.axes)
        scheme = scheme.with_fields(field, field)
    return scheme.behind(getattr(arguments, "front", None))  # which goes with Table 1, where there are weights


def own_scheme(arguments: argparse.Namespace) -> Scheme:
    """The one scheme that --scheme names; raises InvalidInput for rules of one that has its own."""
    scheme = chosen_scheme(arguments.scheme, arguments)
    if arguments.field is not None and scheme.key != "custom":
        raise InvalidInput(f"--field goes with --scheme custom; {scheme.name} has its own.")
    return scheme


def read_bytes(path: Path, most: int = -1) -> bytes:
    """Return the content of a file, or its first `most` bytes; raises InvalidInput for one that cannot be read."""
    try:
        with path.open("rb") as file:
            return file.read(most)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror}.") from error


def read_tensor(path: Path, scheme: Scheme) -> np.ndarray:
    """The tensor in a .npy file: four axes, and every number finite; raises InvalidInput for any other."""
    array = read_npy(read_bytes(path))
    x = as_tensor(array, str(path))
    if array.ndim != 4:
        raise InvalidInput(f"{path} has {array.ndim} axes; {', '.join(scheme.axes)} are needed.")
    if not np.isfinite(x).all():
        raise InvalidInput(f"{path} holds {np.sum(~np.isfinite(x)):,} NaN or infinite values; finite ones are needed.")
    return x


def write_finite(path: Path, result: np.ndarray, told: str) -> None:
    """Write a .npy file completely or not at all; raises InvalidInput for numbers that overflowed."""
    if not np.isfinite(result).all():
        raise InvalidInput(f"{told} {result.dtype}.")
    write_npy(path, result)


def normalize_file(arguments: argparse.Namespace) -> None:
    """Normalize a .npy file into another, which is written completely or not at all."""
    scheme = own_scheme(arguments)
    x = read_tensor(arguments.input, scheme)
    y = normalize(x, scheme, arguments.eps).y
    write_finite(arguments.output, y, f"{arguments.input} holds numbers that are too large: their statistics overflow")


def backward_file(arguments: argparse.Namespace) -> None:
    """Write ∂l/∂x of y = x̂ from two .npy files, x and ∂l/∂y, into a third, completely or not at all."""
    scheme = own_scheme(arguments)
    x, dy = (read_tensor(path, scheme) for path in (arguments.input, arguments.gradient))
    if dy.shape != x.shape:
        raise InvalidInput(f"{arguments.gradient} has the shape {dy.shape}; that of {arguments.input} is {x.shape}.")
    dx = backward(x, dy, scheme, arguments.eps)
    told = f"{arguments.input} or {arguments.gradient} holds numbers that are too large or small: they overflow"
    write_finite(arguments.output, dx, told)


def judge_answer(arguments: argparse.Namespace) -> None:
    """Print of each array of an answer to homework whether it is right, or which mistake it is; 0 whatever it is."""
    scheme = own_scheme(arguments)
    inputs, answer = (
        read_npz(read_bytes(path, MAX_UNPACKED_BYTES + 1)) for path in (arguments.inputs, arguments.answer)
    )
    verdicts = judge(scheme, arguments.layout, inputs, answer, arguments.eps)
    if arguments.json:
        print(json.dumps({name: verdict.record() for name, verdict in verdicts.items()}))
    labels = {name: name if name in ANSWERS else repr(name[:40]) for name in verdicts}
    width = max(7, *map(len, labels.values())) + 1
    for name, verdict in verdicts.items():
        error = "" if verdict.error is None else f", error {verdict.error:.1e}"
        if not arguments.json:
            word = "right" if verdict.right else verdict.mistake or ("not judged" if verdict.problem else "wrong")
            print(f"{labels[name]:{width}}{word}{error}")
        if not verdict.right:
            print_message(verdict.problem or f"{name} is wrong. {verdict.told}")


def print_table1(arguments: argparse.Namespace) -> int:
    """Predict, measure and train the cells of Table 1 (Ba et al. 2016), and print them; 1 where answers disagree."""
    need("train", "torch", "sklearn")
    from normviz.table1.table import measure

    keys = [key.strip() for key in arguments.schemes.split(",") if key.strip()]
    if (arguments.field, arguments.front) != (None, None) and "custom" not in keys:
        keys.append("custom")
    cells = measure([chosen_scheme(key, arguments) for key in keys], build(Setting, vars(arguments)))
    if arguments.json:
        print(json.dumps([cell.record() for cell in cells], ensure_ascii=False, indent=2))
        return tell_disagreements(cells)
    words = {True: "invariant", False: "not", None: "–"}
    width = 2 + max((len(cell.row) for cell in cells), default=22)
    print(
        f"{'':{width + 24}}{'paper':>10}{'predicted':>11}{'forward gap':>13}{'training gap':>14}{'at equal rate':>15}"
    )
    for cell in cells:
        predicted = "degenerate" if cell.degenerate else "–" if cell.unchanged else words[cell.predicted]
        gaps = f"{cell.forward_gap:13.0e}{cell.training_gap:14.0e}{cell.training_gap_equal_lr:15.0e}"
        mark = "" if cell.agrees else "  disagree"
        mark += f"  {cell.untold}" if cell.untold else ""
        print(f"{cell.row:{width}}{cell.transformation:24}{words[cell.paper]:>10}{predicted:>11}{gaps}{mark}")
    return tell_disagreements(cells)


def tell_disagreements(cells: Sequence["Cell"]) -> int:
    """Say on stderr which cells' answers disagree; 1 where there are any, else 0."""
    wrong = [cell for cell in cells if not cell.agrees]
    for cell in wrong:
        print_message(f"the answers on {cell.row} × {cell.transformation} disagree.")
    return 1 if wrong else 0


def run_experiments(arguments: argparse.Namespace) -> int:
    """Run an experiment, or a sweep of one over settings, and print what came out; without a name, list them all.

    1 where a part fails, 130 where it is interrupted: what is done then is kept.
    """
    need("train", "torch", "sklearn", "tqdm")
    from normviz.experiments import command
    from normviz.experiments.results import Archive
    from normviz.jobs.kept import Kept

    sweep = arguments.command == "sweep"
    if not arguments.words:
        print(command.listed())
        return 0
    asked = command.read(arguments.words, several=sweep)
    archive = Archive(Kept())
    with ended() as code:
        found = command.run(asked, sys.stderr.isatty(), archive, partial(workers_for, archive))
    if code:
        return code[0]
    if asked.as_json:
        print(json.dumps(found if sweep else found[0], ensure_ascii=False, indent=2))
    else:
        print("\n\n".join(map(command.printed, found)))
    return 0


def check_claims(arguments: argparse.Namespace) -> int:
    """Measure what the sources claim, and print verdicts and evidence; 1 where one is not the verdict on record.

    Also 1 where a check fails, and 130 where it is interrupted: what is done of the long ones then is kept.
    """
    need("train", "torch", "sklearn", "tqdm")
    from normviz.claims import command
    from normviz.experiments.results import Archive
    from normviz.jobs.kept import Kept

    claims = command.chosen([each for text in arguments.id for each in text.split(",")], arguments.all)
    archive = Archive(Kept())
    with ended() as code:
        shown = sys.stderr.isatty()
        found, failed = command.run(claims, arguments.seed, shown, archive, partial(workers_for, archive))
    if code:
        return code[0]
    print(json.dumps(found, ensure_ascii=False, indent=2) if arguments.json else "\n".join(map(command.printed, found)))
    wrong = command.complaints(found, failed)
    for line in wrong:
        print_message(line)
    return 1 if wrong else 0


def design_schemes(arguments: argparse.Namespace) -> int:
    """Print the schemes that have the invariances that are needed, or all sets that there are; 1 where none has."""
    from normviz.design import command
    from normviz.design.search import Demands, found, fronts

    needed, without, conditions = map(command.keys, (arguments.need, arguments.without, arguments.condition))
    training = [name for name in ("trained", "sample", "seed", "device") if getattr(arguments, name) is not None]
    command.check((*needed, *without, *conditions), arguments.census, training)
    weights = fronts(arguments.weights)
    demands = Demands(arguments.layer, needed, without, weights, conditions)
    if arguments.trained:
        return train_schemes(arguments, weights)
    if arguments.census:
        sets = command.census_records(arguments.layer, weights)
        print(json.dumps(sets, ensure_ascii=False, indent=2) if arguments.json else command.counted(sets))
        return 0
    print(
        json.dumps(command.records(demands), ensure_ascii=False, indent=2)
        if arguments.json
        else command.listed(demands)
    )
    if not (there := bool(found(demands))):
        print_message(command.refusal(demands))
    return 0 if there else 1


def train_schemes(arguments: argparse.Namespace, weights: tuple[str, ...]) -> int:
    """Train schemes with their twins, and print all sets of invariances with the results; 1 if an answer differs.

    Also 1 if a job fails, and 130 if it is interrupted: finished jobs stay cached.
    """
    need("train", "torch", "sklearn", "tqdm")
    from normviz.design import command
    from normviz.design.training import plan_trainings
    from normviz.design.training_results import count_by_set, describe_exceptions
    from normviz.experiments.command import run_missing
    from normviz.experiments.results import Archive
    from normviz.jobs.kept import Kept

    layer, archive = arguments.layer, Archive(Kept())
    sample = command.parse_sample(command.DEFAULT_SAMPLES[layer] if arguments.sample is None else arguments.sample)
    jobs = plan_trainings(layer, weights, sample, arguments.seed or 0, arguments.device or "auto")
    with ended() as code:
        run_missing(jobs, archive, partial(workers_for, archive), sys.stderr.isatty())
    if code:
        return code[0]
    results, found = archive.of(jobs), command.census_records(layer, weights)
    counts, (differing, missing) = count_by_set(jobs, results), describe_exceptions(results, layer)
    for kind in found:
        kind["trained"] = counts[tuple(kind["invariances"])]._asdict()
    print(json.dumps(found, ensure_ascii=False, indent=2) if arguments.json else command.format_trained(found, missing))
    for line in differing:
        print_message(line)
    return 1 if differing else 0


def workers_for(archive: "Archive", parts: int) -> "Desk":
    """Where so many jobs run, whose results go into the archive."""
    from normviz.jobs.executors import count_workers
    from normviz.jobs.usual import usual_desk

    workers = min(count_workers(), parts)
    return usual_desk(workers, workers, lambda part: not archive.missing([part]))


@contextmanager
def ended() -> Iterator[list[int]]:
    """The exit code of a run of jobs inside, where it does not come to its end: that is said on stderr then."""
    from normviz.experiments.command import Failed

    code: list[int] = []
    try:
        yield code
    except Failed as error:
        print_message(str(error))
        code.append(1)
    except KeyboardInterrupt:
        print_message("interrupted; what is done is kept, and the same command goes on from there.")
        code.append(130)


def serve(arguments: argparse.Namespace) -> None:
    """Serve the app from any folder until it is interrupted.

    Raises:
        InvalidInput: a library is missing, or a variable of the environment has a value that it cannot have.
    """
    need("app", "streamlit", "plotly", "PIL", "sklearn", "torch", "jinja2")
    from normviz.ui.environment import check_environment

    check_environment(os.environ)
    os.chdir(app_folder())  # where Streamlit looks for its settings, .streamlit/config.toml
    options = {"--server.port": arguments.port, "--server.address": arguments.address}
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    # The server replaces this process, so that a signal to this process, as by Ctrl-C, ends the server.
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", "app.py", *given])


def app_folder() -> Path:
    """The folder of app.py, pages/ and .streamlit/: inside the package in an installation, otherwise the checkout."""
    package = Path(normviz.__file__).parent
    return next(folder for folder in (package / "app", package.parent) if (folder / "app.py").exists())


def need(extra: str, *libraries: str) -> None:
    """Raise InvalidInput, with what to install, where a library that a command needs is missing."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise InvalidInput(f"this needs {', '.join(missing)}; pip install 'normviz[{extra}]' brings all that it needs.")
