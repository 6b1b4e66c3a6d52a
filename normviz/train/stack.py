"""Networks that differ in scheme and transformation, trained as one stack: forward and backward passes by hand.

Every tensor has two leading axes, (schemes, networks). One matrix product computes the whole stack; only the
normalization runs once for each different scheme. Nothing waits for the device, except for the decompositions of
spectral normalization and of whitening (`NetworkStack.waits_for_device`).
"""

from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

import torch

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.data.digits import DIGIT_CLASSES
from normviz.train.gradient import TrainingForm, make_training_form
from normviz.train.optimizers import OPTIMIZERS
from normviz.train.setting import INITIAL_BIAS, Setting
from normviz.train.stacked_form import StackedForm

Value = TypeVar("Value")
ResumableWork = Generator[None, None, Value]
"""Work that a caller may abandon at every yield; its return value is the result."""

TensorWatcher = Callable[[str, torch.Tensor], object]
"""A function called with the name and value of every tensor of a step, in the order of their computation."""


def _ignore_tensor(name: str, tensor: torch.Tensor) -> None:
    """Do nothing: the default for a function that watches intermediate tensors."""


@dataclass
class StackData:
    """Function from a step to every network's mini-batch on the device, with attributes as in `TrainingProblem`."""

    inputs: torch.Tensor
    labels: torch.Tensor
    order: torch.Tensor
    factor: torch.Tensor
    shift: torch.Tensor

    def __call__(self, step: int | torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return inputs (networks, examples · positions, fan-in) and labels (examples,) of a step.

        A step counted on the device is a tensor of shape (1,): torch would fetch the number of a tensor of shape ().
        """
        chosen = self.order[step].flatten()
        return torch.addcmul(self.shift, self.inputs[chosen], self.factor).flatten(1, 2), self.labels[chosen]


class StackNormalizer:
    """Normalizer of one layer's tensor (schemes, networks, N, H, W, C); equal schemes are computed together.

    Both passes overwrite their tensor. Input and output are rounded to `dtype`; statistics are summed in the tensor's
    own type, as PyTorch's kernels sum statistics of half precision in float32.

    Args:
        schemes: one for each position of the first axis; None normalizes nothing.
        like: a tensor of the type and device.
        stacked: ascending positions of schemes that one `StackedForm` computes.
    """

    def __init__(
        self,
        schemes: Sequence[Scheme | None],
        shape: Shape,
        dtype: torch.dtype,
        eps: float,
        like: torch.Tensor,
        stacked: Sequence[int] = (),
    ) -> None:
        def canonical(position: int) -> str:
            scheme = schemes[position]
            return "" if scheme is None else str(scheme.compute_canonical_key(shape))

        self.dtype = dtype
        self.parts: list[tuple[slice | torch.Tensor, TrainingForm | None]] = []
        if stacked:
            together = [scheme for scheme in map(schemes.__getitem__, stacked) if scheme is not None]
            form = StackedForm(together, shape, eps, like)
            self.parts.append((_make_scheme_index(stacked, like.device), form))
        order = sorted({*range(len(schemes))} - {*stacked}, key=canonical)
        for _, equal in groupby(order, canonical):
            same = list(equal)
            self.parts.append((_make_scheme_index(same, like.device), _make_form(schemes[same[0]], shape, eps, like)))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Overwrite x with x̂ of every scheme, and return it."""
        return self._apply_forms(x, "forward")

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        """Overwrite g = ∂L/∂x̂ with ∂L/∂x, and return it."""
        return self._apply_forms(g, "backward")

    def _apply_forms(self, x: torch.Tensor, direction: str) -> torch.Tensor:
        for where, form in self.parts:
            if form is not None:
                part = x[where]  # a view if `where` is a slice, otherwise a copy
                new = self._round_to_dtype(getattr(form, direction)(self._round_to_dtype(part)))
                if new is not part or not isinstance(where, slice):
                    x[where] = new
        return x

    def _round_to_dtype(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.dtype == self.dtype else x.to(self.dtype).to(x.dtype)


def find_stackable_positions(schemes: Sequence[Scheme | None], shape: Shape, networks: int) -> list[int]:
    """Return the indices of the schemes that one `StackedForm` computes, or [] if they are not more than `networks`.

    With fewer schemes it takes more calls than the schemes one by one.
    """
    found = [place for place, each in enumerate(schemes) if each is not None and StackedForm.can_compute(each, shape)]
    return found if len(found) > networks else []


def _make_scheme_index(positions: Sequence[int], device: torch.device) -> slice | torch.Tensor:
    """Return an index that selects the schemes at these positions: a slice if they are adjacent, else a tensor.

    A slice copies nothing. The tensor is moved to the device once here, not at every step.
    """
    whole = slice(min(positions), max(positions) + 1)
    return whole if len(positions) == whole.stop - whole.start else torch.tensor(sorted(positions), device=device)


def _make_form(scheme: Scheme | None, shape: Shape, eps: float, like: torch.Tensor) -> TrainingForm | None:
    return None if scheme is None or not scheme.has_effect else make_training_form(scheme, shape, eps, like)


class NetworkStack:
    """Networks of all schemes, trained together: normalized layers of ReLU units, and a linear classifier.

    A layer computes a = Wx on patches of x, its normalized â, and ReLU(γâ + β), the next layer's x.

    Args:
        schemes: one for each position of the first leading axis.
        setting: sizes, ε, optimizer.
        weights: W of every normalized layer before training, (networks, kh, kw, Cin, Cout), already transformed.
        rates: their learning rates by network and unit, (networks, 1, 1, 1, Cout).
        classifier: the classifier's weights before training, (features, classes).
    """

    def __init__(
        self,
        schemes: Sequence[Scheme],
        setting: Setting,
        weights: Sequence[torch.Tensor],
        rates: Sequence[torch.Tensor],
        classifier: torch.Tensor,
    ) -> None:
        self.setting, like = setting, classifier
        lead = (len(schemes), weights[0].shape[0])
        self.layers = range(setting.depth)
        act, wts = [scheme.activation_part for scheme in schemes], [scheme.weight_part for scheme in schemes]
        types = [getattr(torch, setting.dtype), *(like.dtype for _ in self.layers[1:])]
        self.acts = [
            StackNormalizer(
                act,
                shape,
                dtype,
                setting.eps,
                like,
                find_stackable_positions(act, shape, lead[1]) if like.is_cuda else (),
            )
            for shape, dtype in zip(setting.shapes, types, strict=True)
        ]
        self.wts = [StackNormalizer(wts, *on, 0.0, like) for on in zip(setting.weight_shapes, types, strict=True)]
        self.parameters: list[torch.Tensor] = []
        self.rates: list[torch.Tensor] = []
        for first, rate in zip(weights, rates, strict=True):
            self._add_parameter(first.expand(*lead, *first.shape[1:]), rate)
        for value in (1.0, INITIAL_BIAS):
            for _ in self.layers:
                self._add_parameter(like.new_full((*lead, 1, 1, 1, setting.width), value), setting.rate)
        self._add_parameter(classifier.expand(*lead, *classifier.shape), setting.rate)
        self._add_parameter(like.new_zeros(*lead, 1, DIGIT_CLASSES), setting.rate)
        self.optimizer = OPTIMIZERS[setting.optimizer](self.parameters, self.rates)

    def step(self, inputs: torch.Tensor, labels: torch.Tensor, watch: TensorWatcher = _ignore_tensor) -> torch.Tensor:
        """Train on one mini-batch; return the losses before it, (schemes, networks). `watch` gets every tensor."""
        return run_to_completion(self.step_by_layer(inputs, labels, watch))

    def step_by_layer(
        self, inputs: torch.Tensor, labels: torch.Tensor, watch: TensorWatcher = _ignore_tensor
    ) -> ResumableWork[torch.Tensor]:
        """Train on one mini-batch as `step` does; yield after every layer; pass intermediate tensors to `watch`."""
        loss, gradients = yield from self._compute_gradients(inputs, labels, watch)
        self.optimizer(gradients)
        return loss

    def _compute_gradients(
        self, inputs: torch.Tensor, labels: torch.Tensor, watch: TensorWatcher
    ) -> ResumableWork[tuple[torch.Tensor, list[torch.Tensor]]]:
        """Yield after every layer; return every network's mean cross-entropy (schemes, networks) and gradients.

        The backward pass frees the tensors of each layer, as patches are half of the memory.
        """
        depth, k = self.setting.depth, self.setting.kernel
        weights, gains, biases = (self.parameters[depth * i : depth * (i + 1)] for i in range(3))
        classifier, offset = self.parameters[3 * depth :]
        patches, used, normalized, positive = [inputs], [], [], []
        for layer in self.layers:
            watch(f"the weights of layer {layer + 1}", weights[layer])
            w = self.wts[layer].forward(weights[layer].clone()).flatten(2, 4)
            watch(f"the normalized weights of layer {layer + 1}", w)
            shape = self.setting.shapes[layer]
            a = _multiply_each_scheme(patches[layer], w).unflatten(2, shape[:3])
            watch(f"the summed inputs of layer {layer + 1}", a)
            xhat = self.acts[layer].forward(a)
            watch(f"the normalized summed inputs of layer {layer + 1}", xhat)
            h = torch.addcmul(biases[layer], xhat, gains[layer]).relu_()
            watch(f"the outputs of layer {layer + 1}", h)
            used.append(w)
            normalized.append(xhat)
            positive.append(h)
            if layer + 1 < depth:
                yield
                patches.append(_extract_patches(h, k))
        features = positive[-1].flatten(3)
        logits = features @ classifier + offset
        watch("the logits", logits)
        log_norm = logits.logsumexp(-1, keepdim=True)
        chosen = labels.expand(*logits.shape[:2], -1).unsqueeze(-1)
        loss = (log_norm - logits.gather(-1, chosen)).mean((-1, -2))

        g = (logits - log_norm).exp_()
        g.scatter_add_(-1, chosen, torch.full_like(g[..., :1], -1.0))
        g /= labels.shape[0]
        by_classifier, by_offset = features.mT @ g, g.sum(2, keepdim=True)
        g = (g @ classifier.mT).view_as(positive[-1])
        by_weights, by_gains, by_biases = [], [], []
        for layer in reversed(self.layers):
            yield
            g = torch.ops.aten.threshold_backward(g, positive.pop(), 0)  # ReLU's derivative in one pass
            by_biases.append(g.sum((2, 3, 4), keepdim=True))
            by_gains.append((g * normalized.pop()).sum((2, 3, 4), keepdim=True))
            g = self.acts[layer].backward(g.mul_(gains[layer])).flatten(2, 4)
            by_used = _multiply_each_scheme(patches.pop().mT, g).view_as(weights[layer])
            by_weights.append(self.wts[layer].backward(by_used))
            if layer:
                g = _sum_patches(g @ used[layer].mT, positive[-1].shape, k)
        gradients = [*reversed(by_weights), *reversed(by_gains), *reversed(by_biases), by_classifier, by_offset]
        watch("the loss", loss)
        for kind, some in zip(("weights", "gains", "biases"), (by_weights, by_gains, by_biases), strict=True):
            for layer, gradient in zip(reversed(self.layers), some, strict=True):
                watch(f"the gradient with respect to the {kind} of layer {layer + 1}", gradient)
        return loss, gradients

    def compute_first_outputs(self, inputs: torch.Tensor) -> torch.Tensor:
        """Return x̂ of the first layer, (schemes, networks, N, H, W, C), or its a = Wx where only W is normalized."""
        w = self.wts[0].forward(self.parameters[0].clone()).flatten(2, 4)
        return self.acts[0].forward(_multiply_each_scheme(inputs, w).unflatten(2, self.setting.shapes[0][:3]))

    @staticmethod
    def waits_for_device(scheme: Scheme) -> bool:
        """Return True if a step of this scheme waits for the device, since torch checks decompositions on the host."""
        return scheme.kind.decomposes

    def list_state_tensors(self) -> list[torch.Tensor]:
        """Return every tensor that a step updates."""
        return [*self.parameters, *self.optimizer.list_state_tensors()]

    def _add_parameter(self, value: torch.Tensor, rate: torch.Tensor | float) -> None:
        self.parameters.append(value.clone(memory_format=torch.contiguous_format))
        self.rates.append(torch.as_tensor(rate, dtype=value.dtype, device=value.device))


def run_to_completion(pieces: ResumableWork[Value]) -> Value:
    """Run a generator to its end and return its value."""
    while True:
        try:
            next(pieces)
        except StopIteration as end:
            return end.value


def _multiply_each_scheme(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """Return x @ y for y (schemes, networks, …); an x that all schemes share has no first axis, and is not copied."""
    if x.ndim == y.ndim:
        return x @ y
    out = y.new_empty(*y.shape[:2], x.shape[-2], y.shape[-1])
    for scheme in range(len(y)):
        torch.bmm(x, y[scheme], out=out[scheme])
    return out


def _extract_patches(h: torch.Tensor, k: int) -> torch.Tensor:
    """Return the inputs of a k × k filter at every position: (…, N, H, W, C) -> (…, N·H'·W', k·k·C)."""
    height, width = h.shape[-3] - k + 1, h.shape[-2] - k + 1
    if k == 1:
        return h.flatten(2, 4)
    shifted = [h[..., i : i + height, j : j + width, :] for i in range(k) for j in range(k)]
    return torch.cat(shifted, -1).flatten(2, 4)


def _sum_patches(g: torch.Tensor, shape: torch.Size, k: int) -> torch.Tensor:
    """Return a tensor of this shape, each element the sum of its copies in patches g: `_extract_patches` transposed."""
    if k == 1:
        return g.view(shape)
    out = g.new_zeros(shape)
    height, width, channels = shape[-3] - k + 1, shape[-2] - k + 1, shape[-1]
    parts = g.view(*shape[:3], height, width, k * k, channels)
    for i in range(k):
        for j in range(k):
            out[..., i : i + height, j : j + width, :] += parts[..., i * k + j, :]
    return out
