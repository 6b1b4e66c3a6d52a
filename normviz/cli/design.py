"""`normviz design`: find schemes with given invariances, or explain why none has them; count all sets."""

import argparse
import json
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.core.registry import Scheme
from normviz.core.text import join_words
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.data.output import print_message
from normviz.topics.design.conditions import CONDITIONS
from normviz.topics.design.demands import Demands, Invariances, parse_fronts
from normviz.topics.design.reasons import describe_relaxation, explain_no_answer
from normviz.topics.design.search import find_nearest_schemes, find_scheme_name, find_schemes, split_scheme, take_census
from normviz.topics.design.wording import format_scheme_line

MAX_SHOWN_SCHEMES = 12
"""The maximal number of schemes printed as text."""


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `design`."""
    parser.add_argument("--layer", default="dense", metavar="L", help=f"{', '.join(LAYERS)}; dense by default")
    parser.add_argument("--need", default="", metavar="KEY,KEY", help=", ".join(TRANSFORMATIONS))
    parser.add_argument("--without", default="", metavar="KEY,KEY", help="what must not be absorbed")
    parser.add_argument(
        "--condition", default="", metavar="KEY,KEY", help="what else it has to do; unknown: lists them"
    )
    parser.add_argument("--weights", default="none", metavar="KEY", help="in front: none, any, or a scheme of weights")
    parser.add_argument(
        "--census", action="store_true", help="all sets of invariances, with how many schemes have them"
    )
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Print the schemes with the demanded invariances, or all sets of invariances; return 1 if none is found."""
    needed, without, conditions = map(split_keys, (arguments.need, arguments.without, arguments.condition))
    check_options((*needed, *without, *conditions), arguments.census)
    weights = parse_fronts(arguments.weights)
    demands = Demands(arguments.layer, needed, without, weights, conditions)
    if arguments.census:
        sets = build_invariance_records(arguments.layer, weights)
        print(json.dumps(sets, ensure_ascii=False, indent=2) if arguments.json else format_census(sets))
        return 0
    print(
        json.dumps(build_design_records(demands), ensure_ascii=False, indent=2)
        if arguments.json
        else format_schemes(demands)
    )
    if not (is_met := bool(find_schemes(demands))):
        print_message(explain_refusal(demands))
    return 0 if is_met else 1


def split_keys(text: str) -> Invariances:
    """Split a text at commas into distinct keys."""
    return tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))


def build_design_record(scheme: Scheme, invariances: Invariances, layer: str) -> dict[str, Any]:
    """Return a scheme with its invariances as plain data."""
    *fields, weights = split_scheme(scheme)
    summation, suppression = (None if field is None else field.to_dict() for field in fields)
    return {
        "summation": summation,
        "suppression": suppression,
        "weights": weights,
        "name": find_scheme_name(scheme, layer),
        "invariances": list(invariances),
    }


def build_design_records(demands: Demands) -> list[dict[str, Any]]:
    """Return the schemes that meet the demands as plain data, the simplest first."""
    return [build_design_record(scheme, absorbed, demands.layer) for scheme, absorbed in find_schemes(demands)]


def build_invariance_records(layer: str, weights: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the sets of invariances that schemes have as plain data, with their number of schemes.

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
        for kind in take_census(layer, weights)
    ]


def explain_refusal(demands: Demands) -> str:
    """Explain why no scheme meets the demands, and which schemes come nearest."""
    return f"{explain_no_answer(demands)} {describe_relaxation(find_nearest_schemes(demands)[0], demands)}."


def format_schemes(demands: Demands) -> str:
    """Format the first schemes that meet the demands, a line each, and the number of the others."""
    schemes = find_schemes(demands)
    lines = [format_scheme_line(scheme, demands.layer) for scheme, _ in schemes[:MAX_SHOWN_SCHEMES]]
    return "\n".join(
        [*lines, *([f"and {len(schemes) - MAX_SHOWN_SCHEMES:,} more"] if len(schemes) > MAX_SHOWN_SCHEMES else [])]
    )


def format_census(sets: list[dict[str, Any]]) -> str:
    """Format the sets of invariances, a line each, with their number of schemes and their keys."""
    return "\n".join(
        f"{kind['schemes']:6,}  {', '.join(kind['invariances']) or 'nothing'}  [{_list_keys(kind)}]" for kind in sets
    )


def _list_keys(kind: dict[str, Any]) -> str:
    """Format the keys of the schemes with one set: "layer = layer-channels, group; not counted: divisive"."""
    same, others = {keys[0]: keys for keys in kind["same"]}, kind["not_counted"]
    hidden = {*others, *(key for keys in kind["same"] for key in keys[1:])}
    counted = ", ".join(" = ".join(same.get(key, [key])) for key in kind["named"] if key not in hidden)
    return "; ".join(filter(None, [counted, others and f"not counted: {', '.join(others)}"]))


def check_options(demanded: Invariances, census_wanted: bool) -> None:
    """Raise InvalidInput for options that exclude each other, or if none says what to find."""
    if demanded and census_wanted:
        raise InvalidInput(
            "--census counts all sets of invariances; it goes without --need, --without and --condition."
        )
    if not demanded and not census_wanted:
        choices = f"--need names the changes to ignore: {join_words(TRANSFORMATIONS)}"
        raise InvalidInput(
            f"{choices}; --condition what else is to be: {join_words(CONDITIONS)}; or --census would do."
        )
