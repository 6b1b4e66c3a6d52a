"""Assertions for pytest: what a user's own model has to keep."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import nn


def assert_batch_independent(model: "nn.Module", batch: Any, tolerance: float = 1e-6) -> None:
    """Check that no example's output depends on other examples, in the model's current mode.

    Args:
        model: a torch.nn.Module; call eval() on it first to test inference.
        batch: what the model takes, at least two examples.
        tolerance: the largest change of an output, in units of the outputs' standard deviation.

    Raises:
        AssertionError: an output changes; the message names the normalizations over several examples.
        InvalidInput: fewer than two examples, or a model that cannot be copied or fails on the batch.

    >>> import torch
    >>> from normviz.testing import assert_batch_independent
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.LayerNorm(8))
    >>> assert_batch_independent(model, torch.randn(16, 4))
    """
    from normviz.inspection.influence import measure_batch_influence
    from normviz.inspection.inspector import inspect

    influence = measure_batch_influence(model, batch)
    if influence > tolerance:
        mode = "training" if model.training else "inference"
        layers = inspect(model, batch).layers
        mixing = [layer.name for layer in layers if (layer.training if model.training else layer.inference) == "batch"]
        cause = f"statistics of several examples: {', '.join(mixing)}" if mixing else "no normalization explains it"
        raise AssertionError(f"other examples change an output by {influence:.2g} deviations in {mode}; {cause}.")
