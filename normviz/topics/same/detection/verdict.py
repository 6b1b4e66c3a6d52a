"""What the detector found, in words."""

from collections.abc import Sequence
from math import isfinite

from normviz.core.fields import AXES
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.describe.wording import format_gap, format_scheme_label, format_scheme_name
from normviz.topics.same.detection.candidates import is_affine
from normviz.topics.same.detection.detector import Detection
from normviz.topics.same.detection.fitting import CHANNELS, EPS, EPS_ALONE, NOTHING, Fit

SHIFTED = "a factor and a shift for each channel, as of batch norm in inference"
CONSTANT = (
    "To rounding, y does not depend on x: it is one number, or one for each channel. So it is behind any scheme with "
    "γ = 0, and behind one that centres fields of a single element."
)


def name(fit: Fit) -> str:
    """What a candidate is: "layer normalization = layer normalization over channels" where these are the same."""
    if fit.scheme.key == "none":
        return "no normalization: y is x" if fit.level == NOTHING else SHIFTED
    return " = ".join(format_scheme_name(scheme) for scheme in fit.schemes)


def label(fit: Fit) -> str:
    """The same in fewer words: "Layer = Layer (channels)"."""
    return (
        name(fit)
        if fit.scheme.key == "none"
        else " = ".join(format_scheme_label(scheme).replace(",", "") for scheme in fit.schemes)
    )


def kind(fit: Fit) -> str:
    """Return the label of a candidate; of a function without its α and s, which mean nothing where it is not told."""
    return label(fit) if fit.scheme.pointwise is None else fit.scheme.label


def axes_words(fits: Sequence[Fit]) -> str:
    """Over which axes of the arrays, in each of the layouts: "over axes 2 and 3 of (N, C, H, W)"."""
    layouts = join_words([f"({', '.join(fit.layout)})" for fit in fits])
    if not fits[0].axes:
        return f"in {layouts}"
    axes = f"{'axes' if len(fits[0].axes) > 1 else 'axis'} {join_words(fits[0].axes, 'and')}"
    return f"over {axes} of {layouts}"


def eps_words(fit: Fit) -> str:
    """Return what is known of ε, or of α and s: "ε = 10⁻⁵", "ε ≤ 10⁻⁵", "α and s = 0.3 estimated"."""
    if fit.scheme.pointwise is not None:
        return "α estimated" if fit.scheme.shift is None else f"α and s = {typeset(fit.scheme.shift, 3)} estimated"
    if not fit.eps:
        return ""
    if fit.level == EPS_ALONE:
        return f"ε = {typeset(fit.eps[0], 3)}, estimated"
    if len(fit.eps) == 1:
        return f"ε = {typeset(fit.eps[0])}"
    if len(fit.eps) == len(EPS):
        return f"any ε up to {typeset(EPS[0])}"
    if fit.eps[-1] == 0:
        return f"ε ≤ {typeset(fit.eps[0])}"
    return f"ε from {typeset(fit.eps[-1])} to {typeset(fit.eps[0])}"


def learned_words(fit: Fit) -> str:
    """What is known of γ and β: "γ and β for each channel", "no γ, no β"."""
    if fit.level < CHANNELS or not (fit.gain or fit.bias):
        return "no γ, no β"
    each = "channel" if fit.level == CHANNELS else f"element along {', '.join(fit.along)}"
    there = [symbol for symbol, is_there in (("γ", fit.gain), ("β", fit.bias)) if is_there]
    missing = "" if len(there) == 2 else f", no {'β' if fit.gain else 'γ'}"
    return f"{' and '.join(there)} for each {each}{missing}"


def headline(found: Detection) -> str:
    """The answer in a sentence: what it was, that it was none of them, or that nobody can tell."""
    if found.constant:
        return "Cannot tell."
    if not found.answer:
        return "Cannot tell." if any(not fit.told for fit in found.fits) else "None of these."
    if found.told:
        return f"It was {name(found.answer[0])}."
    if found.one_computation:
        axes = found.answer[0].axes
        over = f"{'axes' if len(axes) > 1 else 'axis'} {join_words(axes, 'and')}"
        return f"Normalized over {over}. The name depends on the order of the axes."
    return f"Cannot tell: {join_words(dict.fromkeys(map(label, found.answer)))}."


def reasons(found: Detection) -> list[str]:
    """What the answer rests on, in sentences."""
    if found.constant:
        return [CONSTANT]
    if found.answer:
        if found.one_computation and not found.told:
            return [*_by_order(found), "Choose the order under “Axes”: these numbers cannot tell it."]
        return [_details(found), *_same(found)] if found.told else [_several(found)]
    nearest = min((fit.residual for fit in found.fits if fit.told and isfinite(fit.residual)), default=None)
    said = [] if nearest is None else [f"What was decided is off by {format_gap(nearest)} of the largest |y| or more."]
    untold = [fit for fit in found.fits if not fit.told]
    if untold:
        said.append(
            f"Not decided: {join_words(dict.fromkeys(map(kind, untold)), 'and')}. The numbers are too few for a "
            f"γ and a "
            "β of their own, or too coarse, or they lie where a function is straight. More examples, a larger spread "
            "or a higher precision may decide."
        )
    return [*said, f"Behind a γ or a β only these ε are tried: {join_words([typeset(eps) for eps in EPS], 'and')}."]


def _details(found: Detection) -> str:
    """Over what, and with which ε, γ and β."""
    fit = found.answer[0]
    parts = (axes_words(found.answer), eps_words(fit), learned_words(fit))
    return f"{capitalize_first('; '.join(filter(None, parts)))}."


def _by_order(found: Detection) -> list[str]:
    """Return what the same computation is called in each order of the axes, with its ε, γ and β."""
    return [
        f"If the axes are ({', '.join(fit.layout)}): "
        f"{'; '.join(filter(None, (name(fit), eps_words(fit), learned_words(fit))))}."
        for fit in found.answer
    ]


def _same(found: Detection) -> list[str]:
    """Why several schemes are one and the same here."""
    schemes = found.answer[0].schemes
    if {each.key for each in schemes} <= {schemes[0].key, "instance"}:
        return []
    shape = found.shapes[found.answer[0].layout]
    single = [axis for axis, n in zip(AXES["activation"], shape, strict=True) if n == 1]
    because = f", where {' = '.join(single)} = 1," if single else ""
    return [f"On this shape{because} these are one and the same computation: no numbers tell them apart."]


def _several(found: Detection) -> str:
    """Why different schemes explain the same numbers."""
    if any(fit.level >= CHANNELS for fit in found.answer):
        lost = any(not fit.told and not is_affine(fit.schemes) for fit in found.answer)
        doubt = ", or rounding hides that it cannot" if lost else ""
        return (
            f"With a γ and a β that are not known, each of these can come to this y{doubt}. The layer's weights would "
            "tell."
        )
    return (
        "On these numbers each of them comes to the same y, to rounding. More examples, a larger spread or a higher "
        "precision may tell."
    )
