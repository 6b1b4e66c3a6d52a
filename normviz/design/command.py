"""The search without a browser: schemes for demands, or why there are none; and all sets of invariances."""

from typing import Any

from normviz.core.errors import InvalidInput
from normviz.core.fields import AXES, OWN, Rule
from normviz.core.schemes import SCHEMES, Scheme
from normviz.core.text import spoken
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.search import WEIGHTS, Demands, Invariances, axes_of, census, found, name_of, nearest, reason

SHOWN = 12
"""Schemes that are printed for people."""


def fronts(text: str) -> tuple[str, ...]:
    """What may stand in front: "any", "none" or the key of a scheme of weights."""
    return WEIGHTS if text == "any" else (text,)


def keys(text: str) -> Invariances:
    """Keys with commas between them."""
    return tuple(dict.fromkeys(key.strip() for key in text.split(",") if key.strip()))


def record(scheme: Scheme, invariances: Invariances, layer: str) -> dict[str, Any]:
    """A scheme as plain data."""
    on_weights = scheme.on_weights
    fields = (None, None) if scheme is on_weights else (scheme.summation, scheme.suppression)
    named = [None if field is None else field.named() for field in fields]
    return {
        "summation": named[0],
        "suppression": named[1],
        "weights": None if on_weights is None else on_weights.key,
        "name": name_of(scheme, layer),
        "invariances": list(invariances),
    }


def records(demands: Demands) -> list[dict[str, Any]]:
    """The schemes that meet the demands, the simplest first."""
    return [record(scheme, absorbed, demands.layer) for scheme, absorbed in found(demands)]


def census_records(layer: str, weights: tuple[str, ...]) -> list[dict[str, Any]]:
    """The sets of invariances that there are."""
    return [
        {"invariances": list(kind.invariances), "schemes": kind.schemes, "named": list(kind.named)}
        for kind in census(layer, weights)
    ]


def refusal(demands: Demands) -> str:
    """Why no scheme meets the demands, and what comes nearest."""
    kind, missed = nearest(demands)[0]
    names = spoken([TRANSFORMATIONS[key].name for key in missed], "and")
    return f"{reason(demands)} {kind.schemes:,} schemes meet all demands but that on {names}."


def printed(one: dict[str, Any], layer: str) -> str:
    """A record for people: "mean over N; root mean square over N, 2 groups of C"."""
    words = {"summation": "mean over", "suppression": "root mean square over"}
    steps = [f"{said} {_over(one[field], layer)}" for field, said in words.items() if one[field]]
    front = [f"{SCHEMES[one['weights']].name} in front"] if one["weights"] and steps else []
    what = "; ".join([*front, *steps])
    return f"{what}  = {one['name']}" if what and one["name"] else what or one["name"]


def _over(rules: dict[str, str], layer: str) -> str:
    """The axes of a layer along which a field reaches."""
    kept = [AXES["activation"][axis] for axis in axes_of(layer)]
    reached = {axis: Rule.parse(text) for axis, text in rules.items() if axis in kept and text != str(OWN)}
    return ", ".join(f"{rule.number} groups of {axis}" if rule.number else axis for axis, rule in reached.items())


def listed(found: list[dict[str, Any]], layer: str) -> str:
    """The first of the schemes, and how many more there are."""
    lines = [printed(one, layer) for one in found[:SHOWN]]
    return "\n".join([*lines, *([f"and {len(found) - SHOWN:,} more"] if len(found) > SHOWN else [])])


def counted(found: list[dict[str, Any]]) -> str:
    """The sets of invariances, a line each."""
    return "\n".join(
        f"{kind['schemes']:6,}  {', '.join(kind['invariances']) or 'nothing'}  [{', '.join(kind['named'])}]"
        for kind in found
    )


def check(demanded: Invariances, census_wanted: bool) -> None:
    """Raise InvalidInput where nothing is asked for, or two things."""
    if demanded and census_wanted:
        raise InvalidInput("--census counts all sets of invariances; it goes without --need and --without.")
    if not demanded and not census_wanted:
        raise InvalidInput(f"--need names what is to be absorbed: {spoken(TRANSFORMATIONS)}; or --census would do.")
