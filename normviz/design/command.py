"""The search without a browser: schemes for demands, or why there are none; and all sets of invariances."""

from collections.abc import Sequence
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.core.schemes import Scheme
from normviz.core.text import spoken
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.conditions import CONDITIONS
from normviz.design.reasons import given_up, reason
from normviz.design.search import Demands, Invariances, census, found, name_of, nearest, parts_of
from normviz.design.wording import printed

SHOWN = 12
"""Schemes that are printed for people."""

DEFAULT_SAMPLES = {"dense": "all", "conv": "8"}
"""The default of --sample, by layer: it trains in seconds on a CPU."""


def keys(text: str) -> Invariances:
    """Keys with commas between them."""
    return tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))


def record(scheme: Scheme, invariances: Invariances, layer: str) -> dict[str, Any]:
    """A scheme as plain data."""
    *fields, weights = parts_of(scheme)
    summation, suppression = (None if field is None else field.named() for field in fields)
    return {
        "summation": summation,
        "suppression": suppression,
        "weights": weights,
        "name": name_of(scheme, layer),
        "invariances": list(invariances),
    }


def records(demands: Demands) -> list[dict[str, Any]]:
    """The schemes that meet the demands, the simplest first."""
    return [record(scheme, absorbed, demands.layer) for scheme, absorbed in found(demands)]


def census_records(layer: str, weights: tuple[str, ...]) -> list[dict[str, Any]]:
    """Return the sets of invariances, with their number of schemes and the keys of the registered ones.

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
        for kind in census(layer, weights)
    ]


def refusal(demands: Demands) -> str:
    """Why no scheme meets the demands, and what comes nearest."""
    return f"{reason(demands)} {given_up(nearest(demands)[0], demands)}."


def listed(demands: Demands) -> str:
    """The first of the schemes that meet the demands, and how many more there are."""
    schemes = found(demands)
    lines = [printed(scheme, demands.layer) for scheme, _ in schemes[:SHOWN]]
    return "\n".join([*lines, *([f"and {len(schemes) - SHOWN:,} more"] if len(schemes) > SHOWN else [])])


def counted(found: list[dict[str, Any]]) -> str:
    """Return one line of text for each set of invariances."""
    return "\n".join(
        f"{kind['schemes']:6,}  {', '.join(kind['invariances']) or 'nothing'}  [{_names(kind)}]" for kind in found
    )


def _names(kind: dict[str, Any]) -> str:
    """Return the keys of a set: "layer = layer-channels, group; not counted: divisive"."""
    same, others = {keys[0]: keys for keys in kind["same"]}, kind["not_counted"]
    hidden = {*others, *(key for keys in kind["same"] for key in keys[1:])}
    counted = ", ".join(" = ".join(same.get(key, [key])) for key in kind["named"] if key not in hidden)
    return "; ".join(filter(None, [counted, others and f"not counted: {', '.join(others)}"]))


def check(demanded: Invariances, census_wanted: bool, training: Sequence[str] = ()) -> None:
    """Raise InvalidInput where nothing is asked for, or two things, or options of the training without --trained."""
    if demanded and census_wanted:
        raise InvalidInput(
            "--census counts all sets of invariances; it goes without --need, --without and --condition."
        )
    if not demanded and not census_wanted:
        told = f"--need names the changes to ignore: {spoken(TRANSFORMATIONS)}"
        raise InvalidInput(f"{told}; --condition what else is to be: {spoken(CONDITIONS)}; or --census would do.")
    if training and not (census_wanted and "trained" in training):
        partner = "--census" if "trained" in training else "--census --trained"
        raise InvalidInput(f"--{training[0]} goes with {partner}.")


def parse_sample(text: str) -> int | None:
    """Return how many schemes of each set are trained; None for "all". Raises InvalidInput for other texts."""
    if text == "all":
        return None
    if text.isdecimal() and len(text) < 6 and int(text) > 0:
        return int(text)
    raise InvalidInput(f"--sample {text}: a whole number from 1 to 99,999, or all, would do.")


def format_trained(records: list[dict[str, Any]], missing: Sequence[str]) -> str:
    """Return two lines for each set of invariances, and the first of the sentences on missing answers."""
    lines = []
    for line, kind in zip(counted(records).splitlines(), records, strict=True):
        count = kind["trained"]
        others = {"not as predicted": count["disagree"], "without an answer": count["unanswered"]}
        told = [f"{count['agree']:,} of {count['of']:,} as predicted"]
        told += [f"{number:,} {words}" for words, number in others.items() if number]
        lines += [line, f"{'':8}{', '.join(told)}"]
    more = [f"and {len(missing) - SHOWN:,} more without an answer"] if len(missing) > SHOWN else []
    return "\n".join([*lines, *missing[:SHOWN], *more])
