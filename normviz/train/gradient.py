"""The general form and its derivative for any fields, written by hand in as few operations as possible.

    v = x - E_A x,   σ² = ε + E_B v²,   x̂ = v / σ
    u = g/σ - v · E_Bᵀ[g·v/σ³],   ∂L/∂x = u - E_Aᵀ u        with g = ∂L/∂x̂

`normalize` is the reference, and handles extreme numbers; this module is for loops that train many networks. The
kinds outside the general form have derivatives of their own; a kind without one is trained by `ReferenceForm`.
"""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from threading import Lock

import numpy as np
import torch

from normviz.core.fields import OWN, Field, Rule, Shape
from normviz.core.kinds.base import NormalizationResult
from normviz.core.kinds.pointwise import PointwiseFunction
from normviz.core.kinds.whitening import compute_divided_differences, invert_above, merge_groups, split_into_groups
from normviz.core.reductions import broadcast_statistic, divide_by_divisor
from normviz.core.registry import Scheme


class FieldAverage:
    """Average of tensors (…, N, H, W, C) over a field, the elements that share a statistic, and its transpose.

    All axes with the rule "full" are averaged at once, each axis with groups block by block, and each axis with windows
    by a banded, row-stochastic matrix.

    Attributes:
        mixes_examples: True if several examples share a statistic.
        smallest_size: the number of elements of its smallest box.
    """

    def __init__(self, field: Field, shape: Shape, like: torch.Tensor) -> None:
        self.field, self.smallest_size = field, field.find_smallest_size(shape)
        self.mixes_examples = field.simplify(shape).rules[0] != OWN
        self.full: list[int] = []
        self.groups: list[tuple[int, int]] = []
        self.windows: list[tuple[int, torch.Tensor]] = []
        for axis, (rule, n) in enumerate(zip(field.simplify(shape).rules, shape, strict=True), -4):
            if rule.kind == "full" and n > 1:
                self.full.append(axis)
            elif rule.kind == "groups":
                self.groups.append((axis, rule.count_statistics(n)))
            elif rule.kind == "window":
                self.windows.append((axis, like.new_tensor(make_averaging_matrix(rule, n))))

    def __call__(self, x: torch.Tensor) -> torch.Tensor:
        """Return E x, in a shape that broadcasts against x."""
        return self._apply_average(x, transposed=False)

    def apply_transpose(self, x: torch.Tensor) -> torch.Tensor:
        """Return Eᵀ x, the backward pass of the average; without windows it equals E x."""
        return self._apply_average(x, transposed=True)

    def _apply_average(self, x: torch.Tensor, transposed: bool) -> torch.Tensor:
        if self.full:
            x = x.mean(self.full, keepdim=True)
        for axis, blocks in self.groups:
            cut = x.unflatten(axis, (blocks, -1))
            x = cut.mean(axis, keepdim=True).expand_as(cut).flatten(axis - 1, axis)
        for axis, matrix in self.windows:
            along = matrix.mT if transposed else matrix
            x = x @ along.mT if axis == -1 else (along @ x.flatten(axis + 1)).view_as(x) if axis < -2 else along @ x
        return x


def make_averaging_matrix(rule: Rule, n: int) -> np.ndarray:
    """Return the matrix (n, n) that averages along an axis of n elements by a rule."""
    low, high = rule.compute_bounds(n).T[:, :, None]
    inside = (np.arange(n) >= low) & (np.arange(n) < high)
    return inside / inside.sum(1, keepdims=True)


_LOADING = Lock()


def initialize_linear_algebra(device: torch.device) -> None:
    """Make torch load its linear algebra for a device, in one thread at a time.

    CUDA loads it at the first call, and a call of another thread meanwhile fails (pytorch/pytorch#90613).
    """
    if device.type != "mps":  # torch may lack it there: `_compute_eigh` then uses the CPU
        with _LOADING:
            torch.linalg.eigh(torch.eye(1, device=device))


def _compute_eigh(gram: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """Return eigenvalues and eigenvectors of symmetric matrices; they are computed on the CPU for an Apple GPU."""
    there = gram.cpu() if gram.device.type == "mps" else gram  # older versions of torch lack it on MPS
    values, vectors = torch.linalg.eigh(there)
    return values.to(gram.device), vectors.to(gram.device)


@dataclass
class InferenceStatistics:
    """Statistics of a scheme stored for inference; None where each example's own statistic is used.

    Attributes:
        mean: E[μ].
        variance: E[m/(m-1) σ²], without ε.
        matrix: for whitening, E[(Σ + εI)^(-1/2)].
        divisor: the mean divisor, with ε, of another kind.
    """

    mean: torch.Tensor | None = None
    variance: torch.Tensor | None = None
    matrix: torch.Tensor | None = None
    divisor: torch.Tensor | None = None


class TrainingForm:
    """Base class of forward and backward passes of schemes in training and inference.

    `backward` follows the `forward` of the same tensor. This class has no statistics of the data: x̂ in inference is
    that of the example itself.
    """

    def forward(self, x: torch.Tensor, /) -> torch.Tensor:
        """Return x̂ of x (…, N, H, W, C), and store what `backward` needs; may overwrite x."""
        raise NotImplementedError

    def backward(self, g: torch.Tensor, /) -> torch.Tensor:
        """Return ∂L/∂x for g = ∂L/∂x̂ of the last `forward`; may overwrite g."""
        raise NotImplementedError

    def collect_statistics(self, x: torch.Tensor) -> tuple[torch.Tensor, InferenceStatistics]:
        """Return x̂ of x (schemes, networks, mini-batches, N, H, W, C), and mean statistics for inference."""
        return copy(self).forward(x.clone()), InferenceStatistics()

    def apply_statistics(self, x: torch.Tensor, stored: InferenceStatistics) -> torch.Tensor:
        """Return x̂ of x by stored statistics, or by the examples' own where none is stored."""
        return copy(self).forward(x.clone())


@dataclass
class GeneralForm(TrainingForm):
    """Forward and backward pass of x̂ = (x - μ)/σ for averages over any fields; `backward` frees what `forward` stored.

    Both overwrite their tensor, since a large stack spent most of its time on new memory. Only the current block of a
    stack holds its tensors: those of all blocks would take gigabytes.

    Attributes:
        summation, suppression: E_A and E_B; None for no centring, or no division.
        eps: ε, one number, or one for every network in a shape that broadcasts.
        scale: a constant factor of x̂.
    """

    summation: FieldAverage | None
    suppression: FieldAverage | None
    eps: float | torch.Tensor
    scale: float = 1.0

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Overwrite x with x̂ and return it; where σ = 0, x̂ is 0, its limit as ε goes to 0."""
        v = x if self.summation is None else x.sub_(self.summation(x))
        if self.suppression is None:
            return v
        sigma = torch.sqrt(self.suppression(v.square()) + self.eps)
        safe = isinstance(self.eps, float | int) and self.eps > 0
        self.inverse = sigma.reciprocal() if safe else torch.where(sigma > 0, sigma.reciprocal(), 0.0)
        self.v = v.clone() if self.suppression.windows else v
        self.xhat = v.mul_(self.inverse if self.scale == 1.0 else self.inverse * self.scale)
        return self.xhat

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        if self.suppression is not None:
            g.mul_(self.inverse if self.scale == 1.0 else self.inverse * self.scale)
            if self.suppression.windows:  # fields overlap: σ varies within one, so it stays inside the average
                g.addcmul_(
                    self.v, self.suppression.apply_transpose((g * self.xhat).mul_(self.inverse)), value=-1 / self.scale
                )
            else:
                g.addcmul_(self.xhat, self.suppression(g * self.xhat), value=-1 / self.scale**2)
            del self.v, self.xhat, self.inverse
        if self.summation is not None:
            g.sub_(self.summation.apply_transpose(g))
        return g

    def collect_statistics(self, x: torch.Tensor) -> tuple[torch.Tensor, InferenceStatistics]:
        kept, a, b = InferenceStatistics(), self.summation, self.suppression
        if a is not None and a.mixes_examples:
            kept.mean = _average_over_examples(a(x))
        if b is not None and b.mixes_examples:
            m = b.smallest_size
            unbiased = m / (m - 1) if a is not None and a.field == b.field and m > 1 else 1.0
            v = x if a is None else x - a(x)
            kept.variance = _average_over_examples(unbiased * b(v.square()))
        return copy(self).forward(x.clone()), kept

    def apply_statistics(self, x: torch.Tensor, stored: InferenceStatistics) -> torch.Tensor:
        if stored.mean is None and stored.variance is None:
            return super().apply_statistics(x, stored)
        v = x if self.summation is None else x - (self.summation(x) if stored.mean is None else stored.mean)
        if self.suppression is None:
            return v
        variance = self.suppression(v.square()) if stored.variance is None else stored.variance
        sigma = torch.sqrt(variance + self.eps)
        return v * torch.where(sigma > 0, sigma.reciprocal(), 0.0) * self.scale


@dataclass
class PointwiseForm(TrainingForm):
    """Forward and backward pass of the pointwise scheme x̂ = f(αx + s); `alpha` is α and `shift` is s."""

    function: PointwiseFunction
    alpha: float
    shift: float

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.inside = x.mul(self.alpha).add_(self.shift)  # not in place: x becomes x̂
        return self.function.value(self.inside)

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        g.mul_(self.function.slope(self.inside)).mul_(self.alpha)
        del self.inside
        return g


class ReferenceForm(TrainingForm):
    """Forward and backward pass of any scheme, by the reference methods of its kind; slower than the other forms."""

    def __init__(self, scheme: Scheme, shape: Shape, eps: float, like: torch.Tensor) -> None:
        self.scheme, self.eps, self.scale = scheme, eps, scheme.compute_scale(shape)
        self.summation = _make_average(scheme.summation, shape, like)
        self.has_shared_divisor = any(field.simplify(shape).rules[0] != OWN for field in scheme.fields[-1:])

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        v = x if self.summation is None else x - self.summation(x)
        deviation, xhat = self.scheme.kind.normalize(self.scheme, v, self.eps)
        self.result = NormalizationResult(None, v, deviation, xhat, xhat)
        return xhat

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        out, _ = self.scheme.kind.backpropagate(self.scheme, self.result, g * self.scale, self.eps)
        del self.result
        return out if self.summation is None else out - self.summation.apply_transpose(out)

    def collect_statistics(self, x: torch.Tensor) -> tuple[torch.Tensor, InferenceStatistics]:
        used, kept = copy(self), InferenceStatistics()
        xhat = used.forward(x)
        if self.summation is not None and self.summation.mixes_examples:
            kept.mean = _average_over_examples(self.summation(x))
        if used.result.deviation is not None and self.has_shared_divisor:
            kept.divisor = _average_over_examples(broadcast_statistic(used.result.deviation, x.shape))
        return xhat, kept

    def apply_statistics(self, x: torch.Tensor, stored: InferenceStatistics) -> torch.Tensor:
        v = x if self.summation is None else x - (self.summation(x) if stored.mean is None else stored.mean)
        if stored.divisor is not None:
            return divide_by_divisor(v, stored.divisor) * self.scale
        return self.scheme.kind.normalize(self.scheme, v, self.eps)[1]


class SpectralForm(TrainingForm):
    """Forward and backward pass of spectral normalization W / σ₁, σ₁ the largest singular value (Miyato et al. 2018).

    u and v are the leading singular vectors.
    """

    def forward(self, weight: torch.Tensor) -> torch.Tensor:
        """Return Ŵ = W / σ₁(W) of weights (…, kh, kw, Cin, Cout), seen as matrices with a column per unit."""
        matrix = weight.flatten(-4, -2)
        wide = matrix.shape[-2] < matrix.shape[-1]  # the transpose has the smaller Gram matrix
        tall = matrix.mT if wide else matrix
        # Singular vectors do not depend on the scale, whose square might overflow; LAPACK must not get infinity.
        unit = torch.nan_to_num(tall / tall.abs().amax((-2, -1), keepdim=True), posinf=0.0, neginf=0.0)
        gram = unit.mT @ unit
        v = _compute_eigh(gram)[1][..., -1:]
        along = tall @ v
        self.sigma = torch.linalg.vector_norm(along, dim=-2, keepdim=True)
        u = along / self.sigma
        self.u: torch.Tensor = v if wide else u
        self.v: torch.Tensor = u if wide else v
        self.xhat = matrix / self.sigma
        return self.xhat.view_as(weight)

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        """Return ∂L/∂W from g = ∂L/∂Ŵ of the last `forward`: (G - ⟨G, Ŵ⟩ u vᵀ) / σ₁."""
        matrix = g.flatten(-4, -2)
        along = (matrix * self.xhat).sum((-2, -1), keepdim=True)
        out = ((matrix - along * (self.u @ self.v.mT)) / self.sigma).view_as(g)
        del self.u, self.v, self.xhat, self.sigma
        return out


@dataclass
class WhiteningForm(TrainingForm):
    """Forward and backward pass of whitening (Σ + εI)^(-1/2) v over groups of channels (Huang et al. 2018).

        u = g W + (1/M) v · Q (K ∘ Qᵀ (vᵀg + gᵀv) Q) Qᵀ,   ∂L/∂x = u - E u        with W = (Σ + εI)^(-1/2)

    for M vectors in the rows of v and of g = ∂L/∂x̂, the eigenvectors Q of Σ = vᵀv / M, and the matrix K of
    `compute_divided_differences`.
    """

    groups: int
    eps: float

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂ of x; directions in which variance + ε is only rounding are set to 0."""
        rows = split_into_groups(x, self.groups)
        self.v = v = rows - rows.mean(-2, keepdim=True)
        size, together = v.shape[-2:]
        # Squares take twice the digits; values that LAPACK must not get become NaN in the product.
        exact = torch.nan_to_num(v if v.device.type == "mps" else v.double(), posinf=0.0, neginf=0.0)
        values, self.vectors = _compute_eigh(exact.mT @ exact / size)
        values = values.clamp(min=0)
        epsilon = torch.finfo(exact.dtype).eps
        least = 0.0 if together == 1 else (together * epsilon * values.amax(-1, keepdim=True)).sqrt()
        self.root = (values + self.eps).sqrt()
        self.inverse = invert_above(self.root, least)
        self.matrix = ((self.vectors * self.inverse[..., None, :]) @ self.vectors.mT).to(v.dtype)
        return merge_groups(v @ self.matrix, x.shape)

    def backward(self, g: torch.Tensor) -> torch.Tensor:
        rows = split_into_groups(g, self.groups)
        product, q = (self.v.mT @ rows).to(self.vectors.dtype), self.vectors
        turned = compute_divided_differences(self.root, self.inverse) * (q.mT @ (product + product.mT) @ q)
        by_covariance = (q @ turned @ q.mT).to(g.dtype) / self.v.shape[-2]
        u = rows @ self.matrix + self.v @ by_covariance
        del self.v, self.vectors, self.root, self.inverse, self.matrix
        return merge_groups(u - u.mean(-2, keepdim=True), g.shape)

    def collect_statistics(self, x: torch.Tensor) -> tuple[torch.Tensor, InferenceStatistics]:
        used = copy(self)
        mean = split_into_groups(x, self.groups).mean(-2, keepdim=True)
        return used.forward(x.clone()), InferenceStatistics(mean=mean.mean(2), matrix=used.matrix.mean(2))

    def apply_statistics(self, x: torch.Tensor, stored: InferenceStatistics) -> torch.Tensor:
        assert stored.mean is not None
        assert stored.matrix is not None
        return merge_groups((split_into_groups(x, self.groups) - stored.mean) @ stored.matrix, x.shape)


def make_training_form(scheme: Scheme, shape: Shape, eps: float, like: torch.Tensor) -> TrainingForm:
    """Return the `TrainingForm` of a scheme for tensors (…, *shape) of the dtype and device of `like`."""
    if scheme.kind.decomposes:
        initialize_linear_algebra(like.device)
    return FORMS.get(scheme.kind.key, ReferenceForm)(scheme, shape, eps, like)


def _make_general_form(scheme: Scheme, shape: Shape, eps: float, like: torch.Tensor) -> GeneralForm:
    summation, suppression = (_make_average(field, shape, like) for field in (scheme.summation, scheme.suppression))
    return GeneralForm(summation, suppression, eps, scheme.compute_scale(shape))


def _make_pointwise(scheme: Scheme, shape: Shape, eps: float, like: torch.Tensor) -> PointwiseForm:
    assert scheme.function is not None
    return PointwiseForm(scheme.function, scheme.alpha, scheme.shift or 0.0)


def _make_average(field: Field | None, shape: Shape, like: torch.Tensor) -> FieldAverage | None:
    return None if field is None else FieldAverage(field, shape, like)


def _average_over_examples(statistic: torch.Tensor) -> torch.Tensor:
    """Average a statistic over axes 2 and 3, mini-batches and examples, to (schemes, networks, 1, …)."""
    return statistic.mean((2, 3)).unsqueeze(2)


FORMS: dict[str, Callable[[Scheme, Shape, float, torch.Tensor], TrainingForm]] = {
    "general": _make_general_form,
    "pointwise": _make_pointwise,
    "spectral": lambda scheme, shape, eps, like: SpectralForm(),
    "whitening": lambda scheme, shape, eps, like: WhiteningForm(scheme.count_covariances(shape), eps),
}
"""Training steps faster than `ReferenceForm`, by `Kind.key`; the arguments are those of `make_training_form`."""
