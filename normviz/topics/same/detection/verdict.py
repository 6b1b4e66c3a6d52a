"""The detector's answer in words."""

from collections.abc import Sequence
from math import isfinite

from normviz.core.fields import AXES
from normviz.core.layouts import parse_layout
from normviz.core.text import capitalize_first, join_words, typeset
from normviz.describe.wording import format_gap, format_scheme_label, format_scheme_name
from normviz.topics.same.detection.candidates import is_affine
from normviz.topics.same.detection.detector import Detection
from normviz.topics.same.detection.fitting import CHANNELS, EPS_ALONE, NOTHING, TRIED_EPSILONS, CandidateFit


def name_candidate(fit: CandidateFit) -> str:
    """Format the names of a candidate's schemes: "layer normalization = layer normalization over channels"."""
    if fit.scheme.key == "none":
        affine = "a factor and a shift for each channel, as of batch norm in inference"
        return "no normalization: y is x" if fit.level == NOTHING else affine
    return " = ".join(format_scheme_name(scheme) for scheme in fit.schemes)


def label_candidate(fit: CandidateFit) -> str:
    """Format the short labels of a candidate's schemes: "Layer = Layer (channels)"."""
    return (
        name_candidate(fit)
        if fit.scheme.key == "none"
        else " = ".join(format_scheme_label(scheme).replace(",", "") for scheme in fit.schemes)
    )


def label_without_estimates(fit: CandidateFit) -> str:
    """Return the label of a candidate without the estimated α and s of a pointwise scheme."""
    return label_candidate(fit) if fit.scheme.function is None else fit.scheme.label


def describe_array_axes(fits: Sequence[CandidateFit]) -> str:
    """Describe the reduced axes of the arrays in each layout: "over axes 2 and 3 of (N, C, H, W)"."""
    layouts = join_words([f"({', '.join(parse_layout(fit.layout).names)})" for fit in fits])
    if not fits[0].axes:
        return f"in {layouts}"
    axes = f"{'axes' if len(fits[0].axes) > 1 else 'axis'} {join_words(fits[0].axes, 'and')}"
    return f"over {axes} of {layouts}"


def describe_fitted_eps(fit: CandidateFit) -> str:
    """Describe the fitted ε as a number or range, or α and s: "ε = 10⁻⁵", "ε ≤ 10⁻⁵", "α and s = 0.3 estimated"."""
    if fit.scheme.function is not None:
        return "α estimated" if fit.scheme.shift is None else f"α and s = {typeset(fit.scheme.shift, 3)} estimated"
    if not fit.eps:
        return ""
    if fit.level == EPS_ALONE:
        return f"ε = {typeset(fit.eps[0], 3)}, estimated"
    if len(fit.eps) == 1:
        return f"ε = {typeset(fit.eps[0])}"
    if len(fit.eps) == len(TRIED_EPSILONS):
        return f"any ε up to {typeset(TRIED_EPSILONS[0])}"
    if fit.eps[-1] == 0:
        return f"ε ≤ {typeset(fit.eps[0], 3)}"
    return f"ε from {typeset(fit.eps[-1], 3)} to {typeset(fit.eps[0], 3)}"


def describe_fitted_affine(fit: CandidateFit) -> str:
    """Describe the fitted γ and β: "γ and β for each channel", "no γ, no β"."""
    if fit.level < CHANNELS or not (fit.gain or fit.bias):
        return "no γ, no β"
    each = "channel" if fit.level == CHANNELS else f"element along {', '.join(fit.along)}"
    there = [symbol for symbol, is_there in (("γ", fit.gain), ("β", fit.bias)) if is_there]
    missing = "" if len(there) == 2 else f", no {'β' if fit.gain else 'γ'}"
    return f"{' and '.join(there)} for each {each}{missing}"


def summarize_detection(detection: Detection) -> str:
    """Summarize the detector's answer in a sentence: the scheme, "None of these", or "Cannot tell"."""
    if detection.constant:
        return "Cannot tell."
    if not detection.answer:
        return "Cannot tell." if detection.undecided_fits else "None of these."
    if detection.is_unique:
        return f"It was {name_candidate(detection.answer[0])}."
    if detection.is_one_computation:
        axes = detection.answer[0].axes
        over = f"{'axes' if len(axes) > 1 else 'axis'} {join_words(axes, 'and')}"
        return f"Normalized over {over}. The name depends on the order of the axes."
    return f"Cannot tell: {join_words(dict.fromkeys(map(label_candidate, detection.answer)))}."


def explain_detection(detection: Detection) -> list[str]:
    """Explain the evidence for the detector's answer, in sentences."""
    if detection.constant:
        return [
            "To rounding, y does not depend on x: it is one number, or one for each channel. So it is behind any "
            "scheme with γ = 0, and behind one that centres fields of a single element."
        ]
    if detection.answer:
        if detection.is_one_computation and not detection.is_unique:
            return [*_describe_axis_orders(detection), "Choose the order under “Axes”: these numbers cannot tell it."]
        return (
            [_describe_answer(detection), *_explain_equal_schemes(detection)]
            if detection.is_unique
            else [_explain_ambiguity(detection)]
        )
    nearest = min((fit.residual for fit in detection.fits if fit.is_decided and isfinite(fit.residual)), default=None)
    sentences = (
        [] if nearest is None else [f"What was decided is off by {format_gap(nearest)} of the largest |y| or more."]
    )
    if detection.undecided_fits:
        names = join_words(dict.fromkeys(map(label_without_estimates, detection.undecided_fits)), "and")
        sentences.append(
            f"Not decided: {names}. The numbers are too few for a γ and a β of their own, or too coarse, or they lie "
            "where a function is straight. Or one γ and one β are enough for all of them: x may determine those. More "
            "examples, a larger spread or a higher precision may decide."
        )
    return [
        *sentences,
        f"Behind a γ or a β only these ε are tried: {join_words([typeset(eps) for eps in TRIED_EPSILONS], 'and')}.",
    ]


def _describe_answer(detection: Detection) -> str:
    fit = detection.answer[0]
    parts = (describe_array_axes(detection.answer), describe_fitted_eps(fit), describe_fitted_affine(fit))
    return f"{capitalize_first('; '.join(filter(None, parts)))}."


def _describe_axis_orders(detection: Detection) -> list[str]:
    """Return a sentence for each possible order of the axes, which describes the computation."""
    return [
        f"If the axes are ({', '.join(parse_layout(fit.layout).names)}): "
        f"{'; '.join(filter(None, (name_candidate(fit), describe_fitted_eps(fit), describe_fitted_affine(fit))))}."
        for fit in detection.answer
    ]


def _explain_equal_schemes(detection: Detection) -> list[str]:
    """Explain why several schemes are the same on this shape: a list of one sentence, empty for a single scheme."""
    schemes = detection.answer[0].schemes
    if {each.key for each in schemes} <= {schemes[0].key, "instance"}:
        return []
    shape = detection.shapes[detection.answer[0].layout]
    single = [axis for axis, n in zip(AXES["activation"], shape, strict=True) if n == 1]
    because = f", where {' = '.join(single)} = 1," if single else ""
    return [f"On this shape{because} these are one and the same computation: no numbers tell them apart."]


def _explain_ambiguity(detection: Detection) -> str:
    """Explain in a sentence why schemes with different computations fit the same arrays."""
    if any(fit.level >= CHANNELS for fit in detection.answer):
        lost = any(not fit.is_decided and not is_affine(fit.schemes) for fit in detection.answer)
        doubt = ", or rounding hides that it cannot" if lost else ""
        return (
            f"With a γ and a β that are not known, each of these can come to this y{doubt}. The layer's weights would "
            "tell."
        )
    return (
        "On these numbers each of them comes to the same y, to rounding. More examples, a larger spread or a higher "
        "precision may tell."
    )
