"""Names of the schemes that compute what probing found."""

from collections.abc import Iterator

from normviz.core.fields import Field, Shape
from normviz.core.layouts import ArrayLayout, merge_rules
from normviz.core.registry import NAMED_SCHEMES, SCHEMES, WEIGHT_SCHEMES, Scheme, make_custom_scheme
from normviz.inspection.probing import Probe

SECOND_NAMES = ("layer-spatial", "ghost-batch", "filter-response", "group", "divisive")
"""Schemes that come last: their names are used where no simpler scheme computes the same."""

ROOT_MEAN_SQUARES = ("rms", "scale", "pixel", "query-key")
"""Schemes with one computation of x̂, which differ in what they learn."""

POINTWISE = {"tanh": "dynamic-tanh", "erf": "dynamic-erf"}
"""The schemes of functions of each element, by their form."""


def list_probed_schemes(
    probe: Probe, layout: ArrayLayout, shape: Shape, *, is_weight: bool = False, heads: int = 0, learns: bool = False
) -> list[Scheme]:
    """Return the schemes that compute what `probe` found; the usual one for these `heads` and `learns` comes first.

    `heads`: the number of heads into which the channels are cut; 0 if they are not. `learns`: True if the layer has
    learned numbers.
    """
    if probe.form in POINTWISE:
        return [SCHEMES[POINTWISE[probe.form]]]
    fields = merge_rules(probe.mean, layout), merge_rules(probe.divisor, layout)
    if probe.form != "general" or _has_untranslatable_rule(probe, fields):
        return []
    found = [each for each in _iterate_candidates(fields, is_weight) if each.averages_like(fields, shape)]
    if heads and any(each.key == "rms" for each in found):
        found.append(SCHEMES["query-key"].with_parameters(groups=heads))
    is_image = sum(axis in (1, 2) for axis in layout.axes) >= 2
    usual = (
        "query-key" if heads else "rms" if probe.gain_axes else "scale" if learns else "pixel" if is_image else "rms"
    )
    return sorted(found, key=lambda scheme: _rank_name(scheme.key, usual))


def build_found_scheme(probe: Probe, layout: ArrayLayout) -> Scheme | None:
    """Return a custom scheme with the fields that were found; None if they are no fields of (N, H, W, C)."""
    fields = merge_rules(probe.mean, layout), merge_rules(probe.divisor, layout)
    if probe.form != "general" or _has_untranslatable_rule(probe, fields):
        return None
    return make_custom_scheme(*fields)


def _has_untranslatable_rule(probe: Probe, fields: tuple[Field | None, Field | None]) -> bool:
    """Return True if the rules of a probed array have no counterpart in `fields` over (N, H, W, C)."""
    pairs = zip((probe.mean, probe.divisor), fields, strict=True)
    return any(rules is not None and field is None for rules, field in pairs)


def _iterate_candidates(fields: tuple[Field | None, Field | None], is_weight: bool) -> Iterator[Scheme]:
    """Yield the schemes that divide by a root mean square or only centre, with the groups and radius of `fields`."""
    found = {kind: n for field in fields if field for kind, n in field.parameters().items()}
    rows = WEIGHT_SCHEMES if is_weight else NAMED_SCHEMES
    for scheme in rows.values():
        if scheme.is_general_form and (is_weight or scheme.is_activation_scheme):
            yield scheme.with_parameters(found.get("groups"), found.get("window"))


def _rank_name(key: str, usual: str) -> tuple[bool, bool, int]:
    return key in SECOND_NAMES, key in ROOT_MEAN_SQUARES and key != usual, list(SCHEMES).index(key)
