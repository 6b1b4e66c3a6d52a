"""Properties of schemes to compare, derived from their fields: statistics, parameters, state and dependence."""

from collections.abc import Callable

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Shape
from normviz.core.registry import DEFAULT_EPS, Scheme, find_equal_schemes
from normviz.core.theory import explain_degeneracy, explain_sign_only
from normviz.describe.parameters import list_parameter_shapes, list_state_names
from normviz.describe.wording import SchemeOnShape, format_scheme_label, format_shape


def is_shared_along(scheme: Scheme, axis: str, shape: Shape) -> bool:
    """Return True if elements at different indices of this axis share a statistic."""
    position = scheme.axes.index(axis)
    return any(field.rules[position].simplify(max(shape[position], 2)) != OWN for field in scheme.fields)


def describe_reduced_axes(scheme: Scheme, shape: Shape) -> str:
    """Return the averaged axes of a scheme as text: "N, H, W"; "H, W; C in 2 groups"; "nothing"."""
    long = tuple(max(n, 2) for n in shape)  # an axis of length 1 shows nothing of its rule
    done: dict[str, list[str]] = {}
    for axis, name in enumerate(scheme.axes):
        if is_shared_along(scheme, name, shape):
            words = SchemeOnShape(scheme, long).describe_axes([axis]).removeprefix(f"{name} ")
            done.setdefault(words, []).append(name)
    plain = done.pop("averaged", [])
    parts = [", ".join(plain)] if plain else []
    return "; ".join([*parts, *(f"{', '.join(names)} {words}" for words, names in done.items())]) or "nothing"


def describe_statistics(scheme: Scheme, shape: Shape) -> str:
    """Return a text on the number of statistics, the elements averaged for each, and the shapes of the statistics."""
    bound = SchemeOnShape(scheme, shape)
    shapes: list[tuple[int, ...]] = [part.field.compute_statistics_shape(shape) for part in bound.statistics]
    if len(shapes) == 2:
        shapes[1] = scheme.kind.compute_divisor_shape(scheme, shape)
    words = " and ".join(map(format_shape, shapes))
    return "; ".join([bound.describe_statistic_counts(), *([f"shape {words}"] if shapes else [])])


def describe_learned_parameters(scheme: Scheme, shape: Shape) -> str:
    """Return the names and shapes of a scheme's learned parameters, or "nothing"."""
    rows = (row for row in list_parameter_shapes(scheme, shape) if row.name not in list_state_names(scheme))
    return ", ".join(f"{row.name} {'(one number)' if row.here == '()' else row.here}" for row in rows) or "nothing"


def describe_inference_state(scheme: Scheme) -> str:
    """Return the names of the states, such as running averages, that a layer keeps for inference, or "nothing"."""
    return ", ".join(list_state_names(scheme)) or "nothing"


def describe_batch_dependence(scheme: Scheme, shape: Shape) -> str:
    """Return "yes: …" if the output of one example depends on other examples of the batch, else "no"."""
    return "yes: statistics span the examples" if is_shared_along(scheme, "N", shape) else "no"


def explain_single_example_failure(scheme: Scheme, shape: Shape, eps: float = DEFAULT_EPS) -> str:
    """Return why a scheme fails for a single example (N = 1), beginning with "no" or "hardly"; "" if it works."""
    one = (1, *shape[1:])
    try:
        scheme.check(one)
    except InvalidInput as error:
        return f"no: {error}"
    hollow = explain_degeneracy(scheme, one, eps)
    if hollow:
        return f"no: {_lower_first_letter(hollow)}"
    signs = explain_sign_only(scheme, one)
    return f"hardly: where ε is small beside the squares, {_lower_first_letter(signs)}" if signs else ""


def describe_single_example(scheme: Scheme, shape: Shape, eps: float = DEFAULT_EPS) -> str:
    """Return whether a scheme works for a single example (N = 1): "yes", "only as …", or why it fails."""
    if wrong := explain_single_example_failure(scheme, shape, eps):
        return wrong
    twins = find_equal_schemes(scheme, (1, *shape[1:]))
    return f"only as {format_scheme_label(twins[0])}" if twins and is_shared_along(scheme, "N", shape) else "yes"


def summarize_batch_use(scheme: Scheme, shape: Shape, eps: float = DEFAULT_EPS) -> str:
    """Return two lines of Markdown: whether a scheme mixes examples, and whether it works with N = 1.

    Example:
        >>> from normviz.core.registry import SCHEMES
        >>> print(summarize_batch_use(SCHEMES["batch"], (4, 4, 4, 6)).replace("  ", ""))
        Mixes examples: **yes**
        Works with N = 1: **as Instance**
    """
    mixes, alone = (
        words.partition(":")[0]
        for words in (describe_batch_dependence(scheme, shape), describe_single_example(scheme, shape, eps))
    )
    return f"Mixes examples: **{mixes}**  \nWorks with N = 1: **{alone.replace('only as', 'as')}**"


def describe_sequence_use(scheme: Scheme, shape: Shape) -> str:
    """Return "yes" if a scheme suits sequences (time along H), or "no: …" if x̂ depends on their lengths."""
    if is_shared_along(scheme, "H", shape):
        return "no: it averages time, where padding would count"
    return "no: a late step has fewer examples" if is_shared_along(scheme, "N", shape) else "yes"


PROPERTY_DESCRIBERS: dict[str, Callable[[Scheme, Shape, float], str]] = {
    "A statistic runs over": lambda scheme, shape, eps: describe_reduced_axes(scheme, shape),
    "Shared": lambda scheme, shape, eps: SchemeOnShape(scheme, shape).describe_sharing(),
    "Statistics": lambda scheme, shape, eps: describe_statistics(scheme, shape),
    "Learned": lambda scheme, shape, eps: describe_learned_parameters(scheme, shape),
    "State for inference": lambda scheme, shape, eps: describe_inference_state(scheme),
    "Depends on the batch": lambda scheme, shape, eps: describe_batch_dependence(scheme, shape),
    "Works with N = 1": describe_single_example,
    "Sequences of different lengths, time along H": lambda scheme, shape, eps: describe_sequence_use(scheme, shape),
}
"""Properties to compare, by name: functions (scheme, shape, ε) -> words."""


def tabulate_properties(schemes: list[Scheme], shape: Shape, eps: float = DEFAULT_EPS) -> dict[str, list[str]]:
    """Return a table of the schemes' properties as text, {property: [text for each scheme]}."""
    return {name: [words(scheme, shape, eps) for scheme in schemes] for name, words in PROPERTY_DESCRIBERS.items()}


def _lower_first_letter(text: str) -> str:
    return text[:1].lower() + text[1:]
