"""Normalizations of weights: the weight that a layer uses, as a function of the weight that it learns."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from normviz.core.layouts import parse_layout
from normviz.core.registry import SCHEMES
from normviz.inspection.layers import LayerReport, measure_statistics
from normviz.inspection.probing import Probe, probe_function
from normviz.inspection.recording import Recorder, WeightedCall, keep_state, use_modes
from normviz.inspection.scheme_match import list_probed_schemes

LAYOUTS = {2: "OI", 3: "OIW", 4: "OIHW"}
"""The axes of PyTorch's weights by their number; transposed convolutions have the first two in the other order."""

SPECTRAL_TOLERANCE = 0.2
"""A largest singular value is 1 up to this much where power iteration has not converged."""


def inspect_weights(model: nn.Module, recorder: Recorder) -> list[LayerReport]:
    """Return reports on the recorded layers whose weights are normalized, in inference."""
    reports: dict[str, LayerReport] = {}
    for call in recorder.weights:
        learned = _find_learned_weight(call)
        if learned is None or call.weight is None or call.name in reports or call.weight.ndim not in LAYOUTS:
            continue
        compute = make_weight_function(call, learned)
        others = [each for each in call.parameters if each is not learned]
        try:
            probe = probe_function(compute, learned.shape, others, is_fixed=True)
        except (RuntimeError, ValueError, TypeError, IndexError):
            continue
        if probe is not None:
            reports[call.name] = _build_weight_report(call, learned, probe, compute)
    return list(reports.values())


def make_weight_function(call: WeightedCall, learned: Tensor) -> Callable[[Tensor], Tensor]:
    """Return a function from values of the learned parameter to the weight that the module then uses."""

    def compute(values: Tensor) -> Tensor:
        module, before = call.module, learned.detach().clone()
        assert module is not None
        try:
            learned.data.copy_(values)
            with torch.no_grad(), keep_state(module), use_modes(module, call.modes), Recorder(module) as recorder:
                module(*call.arguments, **call.named)
        finally:
            learned.data.copy_(before)
        used = next((each.weight for each in recorder.weights if each.weight is not None), None)
        if used is None:
            raise ValueError("the module uses no weight")
        return used.detach().clone()

    return compute


def _find_learned_weight(call: WeightedCall) -> Tensor | None:
    """Return the parameter from which a module computes its weight; None if the weight is used as it is."""
    if call.module is None or call.weight is None or any(each is call.weight for each in call.parameters):
        return None
    return next((each for each in call.parameters if each.shape == call.weight.shape), None)


def _build_weight_report(
    call: WeightedCall, learned: Tensor, probe: Probe, compute: Callable[[Tensor], Tensor]
) -> LayerReport:
    text = LAYOUTS[learned.ndim]
    text = text if call.is_output_first else f"IO{text[2:]}"
    layout = parse_layout(" ".join(text), "weight")
    lengths = dict(zip(layout.axes, learned.shape, strict=True))
    shape = (lengths.get(0, 1), lengths.get(1, 1), lengths.get(2, 1), lengths.get(3, 1))
    schemes = list_probed_schemes(probe, layout, shape, is_weight=True)
    if probe.form == "proportional" and (_is_spectral(call) or _divides_linearly(compute, learned)):
        schemes = [SCHEMES["spectral"]]
    report = LayerReport(call.name, schemes, text, tuple(learned.shape), probe, target="weight")
    report.statistics = measure_statistics(learned.detach(), probe, text)
    return report


def _divides_linearly(compute: Callable[[Tensor], Tensor], weight: Tensor) -> bool:
    """Return True if the divisor weight / compute(weight) is linear in the weight, as uᵀWv for constant u and v is."""
    generator = torch.Generator().manual_seed(6)
    a, b = (torch.randn(weight.shape, generator=generator, dtype=torch.float64) for _ in range(2))
    divisors = [(each / compute(each)).mean() for each in (a, b, a + b)]
    return abs(float(divisors[0] + divisors[1] - divisors[2])) <= 1e-9 * float(max(abs(each) for each in divisors))


def _is_spectral(call: WeightedCall) -> bool:
    """Return True if the largest singular value of the used weight, as a matrix with a row per unit, is about 1."""
    if call.weight is None:
        return False
    matrix = call.weight.movedim(0 if call.is_output_first else 1, 0).flatten(1)
    return abs(float(torch.linalg.matrix_norm(matrix, 2)) - 1) < SPECTRAL_TOLERANCE
