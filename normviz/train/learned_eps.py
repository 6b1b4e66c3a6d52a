"""Dense networks whose smoothing terms are learned: ε = s², one s for every layer (Ren et al. 2017).

x̂ is written in plain operations, so that torch differentiates it by s too. In inference it is `NormLayer` with this ε.
"""

from collections.abc import Iterator, Sequence
from typing import Any

import torch

from normviz.core.fields import Shape
from normviz.core.registry import Scheme
from normviz.train.dense import Dense
from normviz.train.gradient import GeneralForm
from normviz.train.norm import NormLayer


class LearnedEpsNorm(NormLayer):
    """Normalization layer with a learned ε = s² for each scheme and network.

    All schemes are of the general form; `initial_eps` is the ε of each before training, above 0.

    Attributes:
        root: s, (schemes, networks).
        size: the mean of |v| over the last mini-batch, (schemes, networks).
    """

    def __init__(
        self, schemes: Sequence[Scheme | None], shape: Shape, initial_eps: Sequence[float], networks: int,
        like: torch.Tensor
    ) -> None:  # fmt: skip
        super().__init__(schemes, shape, 0.0, like)
        self.root = like.new_tensor(initial_eps).sqrt()[:, None].repeat(1, networks)
        self.size = torch.zeros_like(self.root)

    @property
    def eps(self) -> torch.Tensor:
        """The current ε, (schemes, networks)."""
        return self.root.square()

    def normalize_in_training(self, x: torch.Tensor) -> torch.Tensor:
        """Return x̂, which autograd differentiates by x and by s, with ε = s²; store the mean of |v| in `size`."""
        xhat, sizes = x.clone(), x.abs().mean((2, 3, 4, 5))
        for where, form in self._iterate_general_forms():
            assert form.suppression is not None
            v = x[where] if form.summation is None else x[where] - form.summation(x[where])
            sizes[where] = v.abs().mean((2, 3, 4, 5))
            inverse = (form.suppression(v.square()) + self._reshape_eps(where)).rsqrt()
            xhat[where] = v * inverse
        self.size = sizes
        return xhat

    def prepare_inference(self, axes: int) -> None:
        """Copy the current ε into the forms that compute x̂ of tensors with `axes` axes after (schemes, networks)."""
        for where, form in self._iterate_general_forms():
            form.eps = self._reshape_eps(where, axes).detach()

    def _iterate_general_forms(self) -> Iterator[tuple[Any, GeneralForm]]:
        return ((where, form) for where, form in self.normalizer.parts if isinstance(form, GeneralForm))

    def _reshape_eps(self, where: Any, axes: int = 4) -> torch.Tensor:
        eps = self.eps[where]
        return eps.view(*eps.shape, *[1] * axes)


class LearnedEpsDense(Dense):
    """Stack of dense networks that learn ε; `initial_eps` is the ε of each scheme before training."""

    def __init__(
        self, schemes: Sequence[Scheme], seeds: Sequence[int], widths: Sequence[int], batch: int,
        initial_eps: Sequence[float], device: torch.device, dtype: torch.dtype = torch.float32,
    ) -> None:  # fmt: skip
        super().__init__(schemes, seeds, widths, batch, 0.0, device, dtype)
        activations, like = [scheme.activation_part for scheme in schemes], self.weights[0]
        self.smoothed = [
            LearnedEpsNorm(activations, (batch, 1, 1, width), initial_eps, len(seeds), like) for width in widths
        ]  # fmt: skip
        self.norms = [*self.smoothed]

    @property
    def roots(self) -> list[torch.Tensor]:
        """The learned s of every layer, (schemes, networks), with ε = s²."""
        return [norm.root for norm in self.smoothed]

    def list_eps(self) -> list[torch.Tensor]:
        """Return the current ε of every layer, each (schemes, networks)."""
        return [norm.eps for norm in self.smoothed]

    def measure_centred_magnitudes(self) -> torch.Tensor:
        """Return the mean |v| of the centred pre-activations v in the last mini-batch, (schemes, networks)."""
        return torch.stack([norm.size for norm in self.smoothed]).mean(0)
