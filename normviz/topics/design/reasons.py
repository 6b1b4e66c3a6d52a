"""Reasons that no scheme meets some demands: the requirements of each on the fields and on the weight scheme."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from normviz.core.fields import AXIS_NAMES
from normviz.core.registry import SCHEMES
from normviz.core.text import capitalize_first, join_words
from normviz.core.theory import predict
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import pluralize
from normviz.topics.design.conditions import CONDITIONS, select_present_axes
from normviz.topics.design.demands import SHAPES, WEIGHT_KEYS, Demand, Demands
from normviz.topics.design.search import NearMiss, evaluate_demand, find_conflict, find_schemes, make_probe_scheme
from normviz.topics.design.wording import LAYER_WORDS


@dataclass(frozen=True)
class RefusalReason:
    """Reason that no scheme meets some demands.

    Attributes:
        conflict: the fewest demands that exclude each other; `asks`: the requirement of each, as "to …, …".
        end: consequence, as the end of the last requirement.
        elsewhere: sentence on the other weight schemes with which there are schemes; empty if there are none.
    """

    conflict: tuple[Demand, ...]
    asks: tuple[str, ...]
    end: str
    elsewhere: str

    def __str__(self) -> str:
        return " ".join(filter(None, [f"{capitalize_first('; '.join(self.asks))}{self.end}.", self.elsewhere]))


def explain_no_answer(demands: Demands) -> RefusalReason | None:
    """Explain why no scheme meets the demands; None if a scheme does."""
    some = find_conflict(demands)
    if not some:
        return None
    elsewhere = _suggest_other_weight_schemes(demands)
    if len(some) == 1:
        return RefusalReason(some, (_explain_impossible_demand(some[0], demands),), "", elsewhere)
    plain = not any(_sort_weight_schemes_by_demand(each, demands)[0] for each in some) and find_conflict(
        restrict_demands(demands, some, ("none",))
    )
    asks = tuple(f"to {format_demand(each)}, {describe_requirement(each, demands, not plain)}" for each in some)
    return RefusalReason(some, asks, _explain_no_axis_left(some, demands), elsewhere)


def restrict_demands(demands: Demands, subset: Sequence[Demand], weights: tuple[str, ...]) -> Demands:
    """Return the demands reduced to `subset`; `weights`: keys of the weight schemes allowed before the layer."""
    absorbed, let_through = (
        tuple(key for key, wanted in subset if key in TRANSFORMATIONS and wanted == which) for which in (True, False)
    )
    conditions = tuple(key for key, _ in subset if key in CONDITIONS)
    return Demands(demands.layer, absorbed, let_through, weights, conditions)


def format_demand(demand: Demand) -> str:
    """Format a demand as a verb: "ignore dataset re-scaling", "change with dataset re-scaling"."""
    key, wanted = demand
    if key in CONDITIONS:
        return CONDITIONS[key].name
    name = TRANSFORMATIONS[key].name
    return f"ignore {name}" if wanted else f"change with {name}"


def describe_relaxation(near_miss: NearMiss, demands: Demands) -> str:
    """Describe how many schemes there are without the demands that the schemes of `near_miss` do not meet."""
    missed = [f"to {format_demand(each)}" for each in demands.all_demands if each[0] in near_miss.missed]
    remain = "remains" if near_miss.schemes == 1 else "remain"
    return f"Without the demand {join_words(missed, 'and')}, {pluralize(near_miss.schemes, 'scheme')} {remain}"


def describe_requirement(demand: Demand, demands: Demands, names_weight_schemes: bool = True) -> str:
    """Describe what a demand requires of the averaged axes and, if `names_weight_schemes`, of the weight scheme."""
    text = _describe_field_requirement(demand, demands.layer)
    if not names_weight_schemes:
        return text
    enough, never, divided = _sort_weight_schemes_by_demand(demand, demands)
    if enough:
        text = f"{join_words(map(_name, enough))} has to stand in front, or {text}"
    if never:
        text += f", {'and' if len(never) == 1 else 'and neither'} {_format_weight_scheme_ban(never)}"
    if divided:
        text += f", and behind {join_words(map(_name, divided))} something has to divide, too"
    return text


def _describe_field_requirement(demand: Demand, layer: str) -> str:
    """Describe what a demand requires of the axes that a scheme averages over, without a weight scheme.

    A demand to change with a shift has no words, since it is never in a conflict.
    """
    key, wanted = demand
    if key in CONDITIONS:
        return CONDITIONS[key].asks(layer)
    axes = [AXIS_NAMES[axis] for axis in find_deciding_axes(demand, layer)]
    one = " and ".join(f"one {axis.one}" for axis in axes).replace(" and ", ", ", max(len(axes) - 2, 0))
    several = f"several {join_words(axis.many for axis in axes)}" if axes else ""
    if TRANSFORMATIONS[key].factor is None:
        return f"a mean has to be subtracted inside {one}"
    if wanted:
        return "the pre-activations have to be divided" + (f", with every field inside {one}" if axes else "")
    return "the pre-activations must not be divided" + (f", unless a field reaches over {several}" if axes else "")


def find_deciding_axes(demand: Demand, layer: str) -> list[str]:
    """Return the axes of a layer whose averaging, or not, decides whether a scheme meets a demand."""
    key, _ = demand
    if key in CONDITIONS:
        return select_present_axes(CONDITIONS[key].inside, layer)
    change = TRANSFORMATIONS[key]
    return select_present_axes(change.shift[layer] if change.factor is None else change.factor, layer)


def _sort_weight_schemes_by_demand(demand: Demand, demands: Demands) -> tuple[list[str], list[str], list[str]]:
    """Return keys of weight schemes with which all schemes meet a demand, none does, or only those that divide do."""
    enough, never, divided = [], [], []
    for weight_key in demands.weights:
        answers, divides = evaluate_demand(demands.layer, weight_key, demand)
        if answers.all():
            enough.append(weight_key)
        elif not answers.any():
            never.append(weight_key)
        elif not answers[:, ~divides].any() and evaluate_demand(demands.layer, "none", demand)[0][:, ~divides].any():
            divided.append(weight_key)
    return enough, never, divided


def _format_weight_scheme_ban(weight_keys: Sequence[str]) -> str:
    if len(weight_keys) == 1:
        return f"{_name(weight_keys[0])} must not stand in front"
    return f"{join_words(map(_name, weight_keys), 'nor')} may stand in front"


def _explain_impossible_demand(demand: Demand, demands: Demands) -> str:
    """Return a sentence on a demand that no scheme with an allowed weight scheme meets."""
    weight_key = demands.weights[0]
    key, wanted = demand
    if key in CONDITIONS:
        row = SCHEMES[weight_key]
        why = f"keeps a {join_words(row.keeps, 'and a')}" if row.keeps else "centres the weights itself"
    elif wanted:
        scheme, shapes = make_probe_scheme(demands.layer, weight_key), SHAPES[demands.layer]
        why = predict(scheme, TRANSFORMATIONS[key], demands.layer, *shapes).reason.partition(": it ")[2].rstrip(".")
    else:
        why = "is invariant to it"
    return (
        f"behind {join_words(map(_name, demands.weights))}, no scheme can {format_demand(demand)}: what "
        f"stands in front {why}"
    )


def _explain_no_axis_left(conflicting: Sequence[Demand], demands: Demands) -> str:
    """Return the end of a reason, ": on a … layer nothing is left to average over"; "" if the demands leave an axis."""
    kept = {axis for each in conflicting if each[1] for axis in find_deciding_axes(each, demands.layer)}
    if kept != set(select_present_axes(("N", "H", "W", "C"), demands.layer)):
        return ""
    shifts = [
        key for key, wanted in conflicting if wanted and key in TRANSFORMATIONS and TRANSFORMATIONS[key].factor is None
    ]
    return f": on a {LAYER_WORDS[demands.layer]} layer nothing is left to {'average over' if shifts else 'divide by'}"


def _suggest_other_weight_schemes(demands: Demands) -> str:
    """Return a sentence that names other weight schemes with which the demands can be met; "" if there are none."""
    others = [
        key for key in WEIGHT_KEYS if key not in demands.weights and find_schemes(replace(demands, weights=(key,)))
    ]
    return f"With {join_words(map(_name, others))} in front there are some." if others else ""


def _name(weight_key: str) -> str:
    return "nothing" if weight_key == "none" else SCHEMES[weight_key].name
