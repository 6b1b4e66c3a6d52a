"""Influence of other examples on an example's output, for a whole model."""

from typing import Any

import torch
from torch import Tensor, nn

from normviz.core.errors import InvalidInput
from normviz.inspection import model_copy
from normviz.inspection.recording import keep_state


def measure_batch_influence(model: nn.Module, batch: Any) -> float:
    """Return how much the first output changes when all other examples do, over the outputs' standard deviation.

    The model is in its current mode; it is copied, and stays as it is. Raises InvalidInput for fewer than two examples,
    or a model that cannot be copied or fails on the batch.
    """
    copied, batch = model_copy.copy_model(model), model_copy.convert_batch(batch)
    size = model_copy.find_batch_size(batch)
    if size < 2:
        raise InvalidInput("the batch has one example; two or more are needed to see dependence between them.")
    changed = model_copy.replace_examples(batch, range(1, size))
    output, other = (compute_output_matrix(copied, each, size) for each in (batch, changed))
    return compare_first_rows(output, other) or 0.0


def compute_output_matrix(model: nn.Module, batch: Any, size: int) -> Tensor:
    """Return the outputs with a row per example as one matrix (size, numbers) of float64; buffers stay as they are."""
    with keep_state(model):
        output = model_copy.call_model(model, batch)
    rows = [
        each.detach().double().flatten(1) if each.ndim > 1 else each.detach().double()[:, None]
        for each in model_copy.list_tensors(output)
        if each.is_floating_point() and each.ndim and each.shape[0] == size
    ]
    return torch.cat(rows, 1) if rows else torch.zeros(size, 0, dtype=torch.float64)


def compare_first_rows(output: Tensor, other: Tensor) -> float | None:
    """Return the root mean square change of the first row over the output's deviation; None for fewer than two rows."""
    if len(output) < 2 or not output.numel():
        return None
    spread = float(output.std(correction=0))
    return float((output[0] - other[0]).square().mean().sqrt()) / spread if spread > 0 else 0.0
