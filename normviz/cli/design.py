"""`normviz design`: find schemes with given invariances, or explain why none has them; count all sets."""

import argparse
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.core.registry import Scheme
from normviz.core.text import join_words
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.data.output import format_json, print_message
from normviz.jobs.result_cache import ResultCache
from normviz.jobs.results import ResultArchive
from normviz.jobs.run import create_queue, run_missing_jobs
from normviz.topics.design.conditions import CONDITIONS
from normviz.topics.design.demands import Demands, Invariances, parse_weight_keys
from normviz.topics.design.reasons import describe_relaxation, explain_no_answer
from normviz.topics.design.search import find_nearest_schemes, find_scheme_name, find_schemes, split_scheme, take_census
from normviz.topics.design.training import list_training_jobs
from normviz.topics.design.training_results import count_results_by_invariances, describe_exceptions
from normviz.topics.design.wording import format_scheme_line
from normviz.train.setting import DEVICES

MAX_SHOWN_SCHEMES = 12
"""The maximal number of schemes printed as text."""

DEFAULT_SAMPLES = {"dense": "all", "conv": "8"}
"""The default of --sample, by layer: it trains in seconds on a CPU."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `design`."""
    parser.add_argument("--layer", default="dense", metavar="L", help=f"{', '.join(LAYERS)}; dense by default")
    parser.add_argument("--need", default="", metavar="KEY,KEY", help=", ".join(TRANSFORMATIONS))
    parser.add_argument("--without", default="", metavar="KEY,KEY", help="changes that the scheme must not cancel")
    parser.add_argument(
        "--condition", default="", metavar="KEY,KEY", help="what else it has to do; unknown: lists them"
    )
    parser.add_argument("--weights", default="none", metavar="KEY", help="in front: none, any, or a scheme of weights")
    parser.add_argument(
        "--census", action="store_true", help="all sets of invariances, with how many schemes have them"
    )
    parser.add_argument(
        "--trained", action="store_const", const=True, help="with --census: train its schemes with twins"
    )
    parser.add_argument(
        "--sample", metavar="K|all", help="schemes of each set; all by default on a dense layer, else 8"
    )
    parser.add_argument("--seed", type=int, metavar="S", help="of the sample and the training; 0 by default")
    parser.add_argument("--device", metavar="D", help=f"to train on: {', '.join(DEVICES)}; auto by default")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Print the schemes with the demanded invariances, or all sets of invariances; return 1 if none is found."""
    needed, without, conditions = map(split_keys, (arguments.need, arguments.without, arguments.condition))
    training = [name for name in ("trained", "sample", "seed", "device") if getattr(arguments, name) is not None]
    check_options((*needed, *without, *conditions), arguments.census, training)
    weight_keys = parse_weight_keys(arguments.weights)
    demands = Demands(arguments.layer, needed, without, weight_keys, conditions)
    if arguments.trained:
        return train_schemes(arguments, weight_keys)
    if arguments.census:
        sets = build_invariance_records(arguments.layer, weight_keys)
        print(format_json(sets) if arguments.json else format_invariance_records(sets))
        return 0
    print(
        format_json([build_design_record(*found, demands.layer) for found in find_schemes(demands)])
        if arguments.json
        else format_schemes(demands)
    )
    if not (is_met := bool(find_schemes(demands))):
        print_message(f"{explain_no_answer(demands)} {describe_relaxation(find_nearest_schemes(demands)[0], demands)}.")
    return 0 if is_met else 1


def train_schemes(arguments: argparse.Namespace, weight_keys: tuple[str, ...]) -> int:
    """Train schemes on weights of `weight_keys`; print how many train as predicted; return 1 if one does not."""
    layer, archive = arguments.layer, ResultArchive(ResultCache())
    sample = parse_sample(DEFAULT_SAMPLES[layer] if arguments.sample is None else arguments.sample)
    jobs = list_training_jobs(layer, weight_keys, sample, arguments.seed or 0, arguments.device or "auto")
    run_missing_jobs(jobs, archive, partial(create_queue, archive), sys.stderr.isatty())
    results, found = archive.find_results(jobs), build_invariance_records(layer, weight_keys)
    counts, (differing, missing) = count_results_by_invariances(jobs, results), describe_exceptions(results, layer)
    for kind in found:
        kind["trained"] = counts[tuple(kind["invariances"])]._asdict()
    print(format_json(found) if arguments.json else format_trained_records(found, missing))
    for line in differing:
        print_message(line)
    return 1 if differing else 0


def split_keys(text: str) -> Invariances:
    """Return the distinct keys in a text that commas separate, in their order."""
    return tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))


def build_design_record(scheme: Scheme, invariances: Invariances, layer: str) -> dict[str, Any]:
    """Return a scheme and its invariances as plain data for JSON."""
    *fields, weights = split_scheme(scheme)
    summation, suppression = (None if field is None else field.to_dict() for field in fields)
    return {
        "summation": summation,
        "suppression": suppression,
        "weights": weights,
        "name": find_scheme_name(scheme, layer),
        "invariances": list(invariances),
    }


def build_invariance_records(layer: str, weight_keys: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return as plain data each set of invariances, with the schemes that have it; `weight_keys`: their weight schemes.

    `named` holds all keys. `same` holds a list for each group of keys with the same x̂ on the layer. `not_counted` holds
    the keys of registered schemes that have the set, but are not among the counted schemes.
    """
    return [
        {
            "invariances": list(kind.invariances),
            "schemes": kind.schemes,
            "named": list(kind.names.keys),
            "same": [list(keys) for keys in kind.names.counted if len(keys) > 1],
            "not_counted": list(kind.names.uncounted),
        }
        for kind in take_census(layer, weight_keys)
    ]


def format_schemes(demands: Demands) -> str:
    """Format a line for each of the first schemes that meet the demands, and one with the number of the others."""
    schemes = find_schemes(demands)
    lines = [format_scheme_line(scheme, demands.layer) for scheme, _ in schemes[:MAX_SHOWN_SCHEMES]]
    return "\n".join(
        [*lines, *([f"and {len(schemes) - MAX_SHOWN_SCHEMES:,} more"] if len(schemes) > MAX_SHOWN_SCHEMES else [])]
    )


def format_invariance_records(records: list[dict[str, Any]]) -> str:
    """Format a line for each set of invariances: the number and the keys of the schemes that have it."""
    return "\n".join(
        f"{record['schemes']:6,}  {', '.join(record['invariances']) or 'nothing'}  [{_format_scheme_keys(record)}]"
        for record in records
    )


def _format_scheme_keys(record: dict[str, Any]) -> str:
    """Format the scheme keys of an invariance record: "layer = layer-channels, group; not counted: divisive"."""
    same, others = {keys[0]: keys for keys in record["same"]}, record["not_counted"]
    hidden = {*others, *(key for keys in record["same"] for key in keys[1:])}
    counted = ", ".join(" = ".join(same.get(key, [key])) for key in record["named"] if key not in hidden)
    return "; ".join(filter(None, [counted, others and f"not counted: {', '.join(others)}"]))


def check_options(demanded: Invariances, census_wanted: bool, training: Sequence[str] = ()) -> None:
    """Raise InvalidInput if options exclude each other or none is given; `training`: the given options on training."""
    if demanded and census_wanted:
        raise InvalidInput(
            "--census counts all sets of invariances; it goes without --need, --without and --condition."
        )
    if not demanded and not census_wanted:
        choices = f"--need names the changes to ignore: {join_words(TRANSFORMATIONS)}"
        raise InvalidInput(
            f"{choices}; --condition what else is to be: {join_words(CONDITIONS)}; or --census would do."
        )
    if training and not (census_wanted and "trained" in training):
        partner = "--census" if "trained" in training else "--census --trained"
        raise InvalidInput(f"--{training[0]} goes with {partner}.")


def parse_sample(text: str) -> int | None:
    """Parse the number of schemes to train of each set; None for "all". Raises InvalidInput for other texts."""
    if text == "all":
        return None
    if text.isdecimal() and len(text) < 6 and int(text) > 0:
        return int(text)
    raise InvalidInput(f"--sample {text}: a whole number from 1 to 99,999, or all, would do.")


def format_trained_records(records: list[dict[str, Any]], missing: Sequence[str]) -> str:
    """Format each record with its counts of trained schemes, then the first lines of `missing`, on failed trainings."""
    lines = []
    for line, kind in zip(format_invariance_records(records).splitlines(), records, strict=True):
        count = kind["trained"]
        others = {"not as predicted": count["disagree"], "without an answer": count["unanswered"]}
        words = [f"{count['agree']:,} of {count['of']:,} as predicted"]
        words += [f"{number:,} {label}" for label, number in others.items() if number]
        lines += [line, f"{'':8}{', '.join(words)}"]
    more = (
        [f"and {len(missing) - MAX_SHOWN_SCHEMES:,} more without an answer"] if len(missing) > MAX_SHOWN_SCHEMES else []
    )
    return "\n".join([*lines, *missing[:MAX_SHOWN_SCHEMES], *more])
