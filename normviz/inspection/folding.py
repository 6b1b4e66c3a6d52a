"""Folding of batch norms with constant statistics into the layer before, tried on the copy of the model."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor, nn

from normviz.inspection.probing import find_parameter_axes
from normviz.inspection.recording import LayerCall, Recorder, WeightedCall

EXACT = 1e-9
"""Largest difference of the model's output, as a share of the largest one, that is rounding."""


def find_folding_obstacles(names: list[str], recorder: Recorder, run_model: Callable[[], Tensor]) -> dict[str, str]:
    """Return by name why each batch norm cannot be folded into the layer before it; "" if it can.

    `recorder`, `run_model`: the record of the model in inference, and a function that returns its output.
    """
    return {name: _find_obstacle(recorder.layers[name], recorder, run_model) for name in names}


def _find_obstacle(call: LayerCall, recorder: Recorder, run_model: Callable[[], Tensor]) -> str:
    before = None if call.producer is None else recorder.weights[call.producer]
    if before is None or before.y.shape != call.x.shape or not torch.equal(before.y, call.x):
        return "something else stands between"
    if call.module is None or before.module is None:
        return "it is a function"
    if not any(each is before.weight for each in before.parameters):
        return "the weight before it is computed"
    zero, one = (call.compute(torch.full_like(call.x, value)) for value in (0.0, 1.0))
    if not set(find_parameter_axes(one - zero)) <= {before.channel_axis % call.x.ndim}:
        return "its channels are not those before it"
    with torch.no_grad():
        expected, folded = run_model(), _run_with_folded_norm(call.module, before, one - zero, zero, run_model)
    is_equal = float((expected - folded).abs().max()) <= EXACT * float(expected.abs().max())
    return "" if is_equal else "the layer before it is used elsewhere, too"


def _run_with_folded_norm(
    norm: nn.Module, before: WeightedCall, factor: Tensor, shift: Tensor, run_model: Callable[[], Tensor]
) -> Tensor:
    """Return the model's output with the batch norm `norm` folded into the layer before it, by `factor` and `shift`."""

    def scale(module: nn.Module, arguments: Any, output: Tensor) -> Tensor:
        return output * factor.select(0, 0) + shift.select(0, 0)

    assert before.module is not None
    hooks = [
        before.module.register_forward_hook(scale),
        norm.register_forward_hook(lambda module, arguments, output: arguments[0]),
    ]
    try:
        return run_model()
    finally:
        for hook in hooks:
            hook.remove()
