"""Detection for users: which normalization computes y from x, with its ε, γ and β."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from array_api_compat import is_array_api_obj, is_torch_array

from normviz.core.arrays import ArrayLike, get_type_name, to_floating_point
from normviz.core.layouts import parse_layout
from normviz.core.scheme import Scheme, rank_by_plainness
from normviz.topics.same.detection.detector import detect_normalization
from normviz.topics.same.detection.fitting import CHANNELS, CandidateFit
from normviz.topics.same.detection.parameters import estimate_affine
from normviz.topics.same.detection.precision import find_precision
from normviz.topics.same.detection.verdict import (
    describe_array_axes,
    describe_fitted_affine,
    describe_fitted_eps,
    explain_detection,
    label_without_estimates,
    name_candidate,
    summarize_detection,
)

USUAL_EPS = 1e-5
"""The ε that is reported if several fit and this one is among them."""


@dataclass(frozen=True, eq=False)
class DetectedLayer:
    """One explanation of y: the schemes that compute y from x on this shape, and the values of ε, γ and β.

    Attributes:
        schemes: the schemes; "none" with a gain and a bias is a factor and a shift for each channel.
        layout: the layout in which the arrays were read.
        axes: the axes of the array along which elements share a statistic.
        eps: ε; None if nothing divides by a root of it. If several fit, 1e-5 or else the largest.
        eps_range: the smallest and the largest ε that fit among those tried.
        gain, bias: γ and β as `normviz.normalize` takes them: one number per channel, or an array with the axes of x.
            NaN where x̂ is constant. None if there is no γ or no β.
        text: all of it in words.
    """

    schemes: tuple[Scheme, ...]
    layout: str
    axes: tuple[int, ...]
    eps: float | None
    eps_range: tuple[float, float] | None
    gain: np.ndarray | None
    bias: np.ndarray | None
    text: str

    @property
    def scheme(self) -> Scheme:
        """The first of the schemes that compute the same, where those with a paper come first."""
        return min(self.schemes, key=rank_by_plainness)

    def __repr__(self) -> str:
        return f"<{self.text}>"

    def to_record(self) -> dict[str, Any]:
        """Return the explanation as a dict for JSON, with None for an unknown γ or β."""
        return {
            "schemes": [_make_scheme_record(each) for each in self.schemes],
            "layout": self.layout,
            "axes": list(self.axes),
            "eps": self.eps,
            "eps_range": self.eps_range and list(self.eps_range),
            "gain": _convert_to_lists(self.gain),
            "bias": _convert_to_lists(self.bias),
            "text": self.text,
        }


@dataclass(frozen=True, eq=False)
class DetectedNormalization:
    """The answer of `detect`: a verdict, and the normalizations that explain y.

    Attributes:
        verdict: "one", "several" if these numbers cannot decide, or "none" if nothing fits.
        layers: the explanations: one, several, or none. With "several", there may be none: y says nothing about x.
        summary: the answer in a sentence.
        evidence: the reasons, in sentences.
    """

    verdict: str
    layers: tuple[DetectedLayer, ...]
    summary: str
    evidence: tuple[str, ...]

    @property
    def layer(self) -> DetectedLayer | None:
        """The layer that explains the output, if there is exactly one (verdict "one"), otherwise None."""
        return self.layers[0] if self.verdict == "one" else None

    def __repr__(self) -> str:
        return f"<{self.verdict}: {' | '.join(each.text for each in self.layers) or self.summary}>"

    def to_record(self) -> dict[str, Any]:
        """Return the verdict and all explanations as a dict for JSON."""
        return {
            "verdict": self.verdict,
            "summary": self.summary,
            "evidence": list(self.evidence),
            "layers": [layer.to_record() for layer in self.layers],
        }


def detect(x: ArrayLike, y: ArrayLike, layout: str | None = None) -> DetectedNormalization:
    """Detect which normalization computes y from x, with its ε, γ and β.

    Candidates are all registered schemes of activations without windows, with up to 32 groups. A name is given only if
    no other candidate explains y up to rounding; schemes that compute the same on this shape are one candidate. γ and β
    may be absent, one per channel, or one per element of a layer norm's field. Behind a γ or β, ε is one of a few usual
    values; without them it is estimated.

    Arrays may have any size. Statistics are computed from all elements of a field. Of axes that no field averages, such
    as the examples of layer norm, evenly spaced indices are used: up to 2²⁰ elements, or else 16 fields. Up to 2²⁰
    evenly spaced elements of y decide. Memory, beyond x and y, was 77 to 102 bytes for each element of x at 2 million
    elements; small arrays take more for each element, and some 10 MB in all.

    The result has a `verdict`, "one", "several" or "none", the `layers` that explain y, and `layer`, which is None
    unless the verdict is "one".

    A name is no proof: of 800 layers of which half were made to mislead, about one gets a wrong one. It is given only
    if the numbers test the statistics that divide, beyond ε, γ and β, and exclude simpler explanations. Otherwise the
    verdict is "several", or "none". One γ for all channels is "several": x may determine it. So is a variance computed
    as a difference of squares, where the mean is many times the deviation.

    Args:
        x, y: input and output of a layer, of one shape: NumPy or torch arrays, or nested lists.
        layout: the axes of the arrays, as for `normalize`: "NCHW", "b t d" and so on. None tries the usual layouts with
            as many axes; if they lead to different names, the verdict is "several".

    Raises:
        InvalidInput: in one line, what was wrong, what came, and what would be right.

    >>> import numpy as np, normviz
    >>> x = np.random.default_rng(0).normal(size=(8, 6, 4, 4)) * np.linspace(0.2, 2, 8).reshape(8, 1, 1, 1)
    >>> found = normviz.detect(x, normviz.normalize(x, "group", groups=3, layout="NCHW").y, layout="NCHW")
    >>> found
    <one: group normalization with G = 3; over axes 1, 2 and 3 of (N, C, H, W); ε = 10⁻⁵; no γ, no β>
    >>> found.layer.scheme.key, found.layer.eps, found.layer.gain
    ('group', 1e-05, None)
    """
    given, target = _to_numpy(x), _to_numpy(y)
    detection = detect_normalization(given, target, layout)
    layers: tuple[DetectedLayer, ...]
    if detection.is_unique:
        verdict, layers = "one", (_make_explanation(given, target, detection.answer[0], detection.answer),)
    elif detection.answer:
        verdict, layers = "several", tuple(_make_explanation(given, target, fit, (fit,)) for fit in detection.answer)
    else:
        layers = tuple(map(_make_undecided_layer, detection.undecided_fits))
        verdict = "several" if layers or detection.constant else "none"
    return DetectedNormalization(verdict, layers, summarize_detection(detection), tuple(explain_detection(detection)))


def _make_explanation(
    x: np.ndarray, y: np.ndarray, fit: CandidateFit, layouts: tuple[CandidateFit, ...]
) -> DetectedLayer:
    """Return the explanation of y that `fit` gives; `layouts`: the equal fits in other layouts, `fit` among them."""
    eps = None if not fit.eps else USUAL_EPS if USUAL_EPS in fit.eps else fit.eps[0]
    gain = bias = None
    if fit.level >= CHANNELS and (fit.gain or fit.bias):
        layout = parse_layout(fit.layout)
        tensors = (layout.to_tensor(x), layout.to_tensor(y))
        values = estimate_affine(*tensors, fit, eps or 0.0, find_precision(y))
        shaped = [each.ravel() if fit.level == CHANNELS else layout.from_tensor(each, x.shape) for each in values]
        gain, bias = (value if has else None for value, has in zip(shaped, (fit.gain, fit.bias), strict=True))
    parts = (
        name_candidate(fit), describe_array_axes(layouts), describe_fitted_eps(fit), describe_fitted_affine(fit)
    )  # fmt: skip
    span = (fit.eps[-1], fit.eps[0]) if fit.eps else None
    return DetectedLayer(fit.schemes, fit.layout, fit.axes, eps, span, gain, bias, "; ".join(filter(None, parts)))


def _make_undecided_layer(fit: CandidateFit) -> DetectedLayer:
    text = f"{label_without_estimates(fit)}, not decided"
    return DetectedLayer(fit.schemes, fit.layout, fit.axes, None, None, None, None, text)


def _to_numpy(array: ArrayLike) -> np.ndarray:
    """Return an array of any library as a NumPy array, detached from gradients, with bfloat16 as float32."""
    if not is_array_api_obj(array):
        return to_floating_point(array)[0]
    if is_torch_array(array):
        array = array.detach().cpu()
        array = array.float() if get_type_name(array.dtype) == "bfloat16" else array
    return np.asarray(array)


def _convert_to_lists(values: np.ndarray | None) -> Any:
    """Return an array as nested lists, with None for NaN."""
    return None if values is None else np.where(np.isnan(values), np.array(None), values).tolist()


def _make_scheme_record(scheme: Scheme) -> dict[str, Any]:
    """Return a scheme's key and parameters as plain data, with α and s for a pointwise scheme."""
    inner = {"alpha": scheme.alpha, "shift": scheme.shift} if scheme.function_parameters else {}
    return {"key": scheme.key, **scheme.parameters, **inner}
