"""Gradients by PyTorch's automatic differentiation of `normalize`."""

import numpy as np

from normviz.core.normalize import normalize
from normviz.core.registry import Scheme
from normviz.topics.gradients.small import SmallTensors


def differentiate_by_autograd(scheme: Scheme, tensors: SmallTensors, eps: float) -> dict[str, np.ndarray]:
    """Return ∂L/∂x, ∂L/∂γ and ∂L/∂β of L = Σ ∂L/∂y · y by PyTorch's autograd, as "dx", "dgain" and "dbias"."""
    import torch  # imported here: no other part of the page needs it

    x, gain, bias = (torch.tensor(each, requires_grad=True) for each in (tensors.x, tensors.gain, tensors.bias))
    loss = (torch.tensor(tensors.dy) * normalize(x, scheme, eps, gain, bias).y).sum()
    found = torch.autograd.grad(loss, (x, gain, bias))
    return dict(zip(("dx", "dgain", "dbias"), (each.numpy() for each in found), strict=True))
