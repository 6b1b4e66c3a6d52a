"""Those who train the networks of Table 1: the engine, JAX, `torch.func`, `torch.compile`, and separate modules.

Every one of them trains the same seven networks of every scheme (the original and its six twins) from the same numbers
on the same mini-batches, and has to reach the same losses.
"""

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial

import numpy as np
import paths  # noqa: F401  (normviz)
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import register_parametrization

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, Scheme, get_scheme
from normviz.train import compiled
from normviz.train.problem import BASE_POSITIONS, NETWORKS, TrainingProblem, make_problem
from normviz.train.setting import Setting
from normviz.train.stack import INITIAL_BIAS
from normviz.train.twins import train_stepwise

TWINS = [at for at, network in enumerate(NETWORKS) if network.follows and not network.disturbed]
"""The original and its six twins. The engine can train more (at an equal rate, disturbed); here nobody does."""

PAPER = ("batch", "weight", "layer")
ALL = (*PAPER, *(key for key in SCHEMES if key not in (*PAPER, "custom")))
EPS, RATE = 1e-5, 0.02
"""As in torch.nn; and a rate at which every training is stable. At 0.1 divisive normalization of a dense layer makes
other losses of rounding errors, so that nothing could be compared. Neither changes the work."""

AGREE = 1e-6
"""Largest relative difference between the losses of two contenders; measured: 1e-12."""

STABLE = AGREE / 100
"""Largest relative change of a scheme's losses by one rounding, if its losses are to be compared.

Contenders differ by several roundings, in different places. Measured over 100 steps: at most 3e-15 for stable schemes,
0.09 for filter response norm on a dense layer, which is nearly a sign function there.
"""

Trainer = Callable[[Sequence[Scheme], Setting], np.ndarray]
"""From the setting to the losses, (steps, schemes, networks); data and networks are made anew every time."""


@dataclass(frozen=True)
class Case:
    """A training: 7 networks per scheme, of one normalized layer."""

    layer: str = "dense"
    schemes: tuple[str, ...] = PAPER
    width: int = 32
    batch: int = 32


class Affine(nn.Module):
    """γ x + β by channel, for what torch.nn normalizes without."""

    def __init__(self, width: int, axes: int) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.empty(width, *[1] * axes)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """Normalize a channels-first tensor."""
        return x * self.weight + self.bias


class Kernel(nn.Module):
    """A layer that torch.nn lacks: normviz's own function with autograd, on channels-first tensors."""

    def __init__(self, scheme: Scheme, eps: float, axes: tuple[int, ...]) -> None:
        super().__init__()
        self.scheme, self.eps, self.axes = scheme, eps, axes

    def forward(self, x: Tensor) -> Tensor:
        """Return the normalized tensor in its own layout; `axes` brings it to that of the fields."""
        full = (x if x.ndim == 4 else x[..., None, None]).permute(self.axes)
        out = normalize(full, self.scheme, self.eps).xhat
        return out.permute(*np.argsort(self.axes).tolist()).reshape(x.shape)


def build(scheme: Scheme, setting: Setting, problem: TrainingProblem, network: int) -> nn.Sequential:
    """One network as a user would write it, at its first numbers."""
    width, conv = setting.width, setting.layer == "conv"
    first = nn.Conv2d(1, width, setting.kernel, bias=False) if conv else nn.Linear(64, width, bias=False)
    last = nn.Linear(len(problem.classifier), 10)
    norm = _norm(scheme, setting)
    net = nn.Sequential(first, norm, nn.ReLU(), nn.Flatten(), last).double()
    first.weight.data = torch.tensor(problem.weights[0][network]).permute(3, 2, 0, 1).reshape(first.weight.shape)
    by_channel = torch.tensor(problem.classifier).view(*setting.shapes[0][1:], -1)
    last.weight.data = by_channel.permute(3, 2, 0, 1).reshape(last.weight.shape)
    last.bias.data.zero_()
    if scheme.key == "weight":
        first.bias = nn.Parameter(torch.full((width,), INITIAL_BIAS, dtype=torch.float64))
        weight_norm(first).parametrizations.weight.original0.data.fill_(1.0)
    elif scheme.weight_part is not None:
        register_parametrization(first, "weight", Kernel(scheme.weight_part, 0.0, (2, 3, 1, 0)))
    for name, parameter in norm.named_parameters():
        parameter.data.fill_(1.0 if name.endswith("weight") else INITIAL_BIAS)
    return net.to(setting.device)


def _norm(scheme: Scheme, setting: Setting) -> nn.Module:
    """torch.nn's layer for the summed inputs, or the kernel; γ and β are by channel everywhere."""
    width, conv, eps = setting.width, setting.layer == "conv", setting.eps
    affine = Affine(width, 2 if conv else 0)
    match scheme.key:
        case "weight":  # γ and β are weight_norm's own
            return nn.Identity()
        case "batch":
            return (nn.BatchNorm2d if conv else nn.BatchNorm1d)(width, eps, track_running_stats=False)
        case "layer" | "layer-weight":
            return nn.GroupNorm(1, width, eps) if conv else nn.LayerNorm(width, eps)
        case "group":
            return nn.GroupNorm(scheme.parameters["groups"], width, eps)
        case "layer-channels" if not conv:
            return nn.LayerNorm(width, eps)
        case "rms" if not conv:
            return nn.Sequential(nn.RMSNorm(width, eps, elementwise_affine=False), affine)
        case "instance" | "layer-spatial" if conv:
            return nn.InstanceNorm2d(width, eps, affine=True)
    if scheme.activation_part is None or (not scheme.fields and scheme.function is None):
        return affine
    return nn.Sequential(Kernel(scheme, eps, (0, 2, 3, 1)), affine)


class Batches:
    """The mini-batches of a problem as images or vectors, by network."""

    def __init__(self, problem: TrainingProblem, setting: Setting) -> None:
        arrays = (problem.inputs, problem.factor, problem.shift, problem.labels, problem.order)
        inputs, factor, shift, self.labels, self.order = (torch.tensor(a, device=setting.device) for a in arrays)
        if setting.layer == "conv":  # from the patches back to the images
            patches, shift = inputs.mT.contiguous(), shift[..., :1]
            images, copies = (nn.functional.fold(p, 8, setting.kernel) for p in (patches, torch.ones_like(patches)))
            self.inputs = images / copies
        else:
            self.inputs = inputs.flatten(1)
        axes = [1] * (self.inputs.ndim - 2)
        self.factor, self.shift = factor.reshape(*factor.shape[:2], 1, *axes), shift.reshape(len(shift), 1, -1, *axes)

    def __call__(self, step: int, network: int | slice = slice(None)) -> tuple[Tensor, Tensor]:
        """Return the inputs of one network or of all, and the labels."""
        chosen = self.order[step]
        return torch.addcmul(self.shift[network], self.inputs[chosen], self.factor[network]), self.labels[chosen]


def rate_of(name: str, parameter: Tensor, rates: np.ndarray, setting: Setting) -> Tensor:
    """Return the learning rate of a parameter; for the normalized weights, the twin's, by unit."""
    if not name.startswith("0.") or name.endswith(("bias", "original0")):
        return torch.tensor(setting.rate, dtype=torch.float64, device=setting.device)
    by_unit = torch.tensor(rates, device=setting.device).flatten(-4)
    return by_unit.view(*by_unit.shape, *[1] * (parameter.ndim - by_unit.ndim))


def engine(schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int] = TWINS) -> np.ndarray:
    """Train all networks of all schemes as one stack, with derivatives by hand: this project's engine."""
    (losses,) = deque(train_stepwise(schemes, setting, networks), maxlen=1)
    return losses.cpu().double().numpy()


def stack(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """Train as the engine does without kernels, or before they are loaded: by torch alone."""
    loaded, compiled._loaded = compiled._loaded, []
    try:
        return engine(schemes, setting)
    finally:
        compiled._loaded = loaded


def loops(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """One nn.Module after the other, each with its own torch.optim.SGD."""
    problem = make_problem(setting, TWINS)
    batches, losses = Batches(problem, setting), []
    for scheme in schemes:
        for network in range(len(TWINS)):
            net, groups = build(scheme, setting, problem, network), []
            for name, parameter in net.named_parameters():
                rate = rate_of(name, parameter, problem.rates[0][network], setting)
                uniform = bool((rate == rate.max()).all())
                groups.append({"params": [parameter], "lr": float(rate.max() if uniform else setting.rate)})
                if not uniform:  # no optimizer has a rate by unit; a factor on the gradient is the same for SGD
                    parameter.register_hook(lambda g, factor=rate / setting.rate: g * factor)
            optimizer, of_net = torch.optim.SGD(groups), []
            for step in range(setting.steps):
                x, labels = batches(step, network)
                loss = nn.functional.cross_entropy(net(x), labels)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                of_net.append(loss.detach())
            losses.append(torch.stack(of_net))
    return torch.stack(losses, -1).unflatten(-1, (-1, len(TWINS))).cpu().numpy()


@lru_cache(maxsize=64)
def make_derivative(
    scheme: Scheme, setting: Setting, is_compiled: bool
) -> Callable[..., tuple[dict[str, Tensor], Tensor]]:
    """Return the function from stacked parameters, inputs and labels to gradients and losses of all networks."""
    net = build(scheme, setting, make_problem(setting, TWINS), 0)

    def loss(parameters: dict[str, Tensor], x: Tensor, labels: Tensor) -> Tensor:
        return nn.functional.cross_entropy(functional_call(net, parameters, (x,)), labels)

    derive = vmap(grad_and_value(loss), in_dims=(0, 0, None))
    return torch.compile(derive, dynamic=False) if is_compiled else derive


def func(schemes: Sequence[Scheme], setting: Setting, is_compiled: bool = False) -> np.ndarray:
    """`vmap` of `grad` of the same module over the stacked networks, a stack per scheme; compiled, if asked."""
    problem = make_problem(setting, TWINS)
    batches, losses = Batches(problem, setting), []
    for scheme in schemes:
        nets = [build(scheme, setting, problem, network) for network in range(len(TWINS))]
        parameters = {name: p.detach() for name, p in stack_module_state(nets)[0].items()}
        rates = {name: rate_of(name, p, problem.rates[0], setting) for name, p in parameters.items()}
        derive, of_scheme = make_derivative(scheme, setting, is_compiled), []
        for step in range(setting.steps):
            gradients, value = derive(parameters, *batches(step))
            for name, parameter in parameters.items():
                parameter.addcmul_(rates[name], gradients[name], value=-1)
            of_scheme.append(value)
        losses.append(torch.stack(of_scheme))
    return torch.stack(losses, 1).cpu().numpy()


def use_jax(schemes: Sequence[Scheme], setting: Setting, own_convolution: bool = False) -> np.ndarray:
    """JAX, on patches as the engine's torch stack, or with its own convolution."""
    from with_jax import train_with_jax

    return train_with_jax(schemes, setting, TWINS, setting.dtype, own_convolution)


CONTENDERS: dict[str, Trainer] = {
    "engine": engine,
    "torch alone": stack,
    "JAX": use_jax,
    "JAX, its convolution": partial(use_jax, own_convolution=True),
    "torch.func": func,
    "torch.compile": partial(func, is_compiled=True),
    "modules": loops,
}
"""All contenders in float64; in float32 JAX is compared with the engine."""

SLOW_TO_COMPILE = "torch.compile"
"""The contender that compiles for half a minute a scheme; it is left out where there are more than three."""


def find_contenders(case: Case, dtype: str = "float64") -> list[str]:
    """Return the contenders that train a case."""
    if dtype == "float32":
        return [name for name in ("engine", "JAX") if name in CONTENDERS]
    left_out = {"JAX, its convolution"} if case.layer == "dense" else set()
    left_out |= {SLOW_TO_COMPILE} if len(case.schemes) > len(PAPER) else set()
    return [name for name in CONTENDERS if name not in left_out]


def set_up(case: Case, device: str, steps: int, dtype: str = "float64") -> tuple[list[Scheme], Setting]:
    """Return the schemes and the setting of a case."""
    sizes = {"steps": steps, "batch": case.batch, "width": case.width, "dtype": dtype}
    return [get_scheme(key) for key in case.schemes], Setting(case.layer, eps=EPS, rate=RATE, device=device, **sizes)


def find_stable_schemes(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """Return True for each scheme whose training reproduces its losses to `STABLE` after one rounding.

    Trains every network that has a copy disturbed by one rounding beside that copy. Two correct implementations of a
    scheme that fails this test reach different losses, so that a comparison would say nothing.
    """
    copies = [place for place, network in enumerate(NETWORKS) if network.disturbed == "rounding"]
    networks = sorted({*copies, *(BASE_POSITIONS[place] for place in copies)})
    losses = engine(schemes, setting, networks)
    disturbed, originals = (
        losses[..., [networks.index(place) for place in places]]
        for places in (copies, [BASE_POSITIONS[p] for p in copies])
    )
    return np.abs(disturbed / originals - 1).max(axis=(0, 2)) <= STABLE


def require_equal_losses(
    losses: Mapping[str, np.ndarray], reference: str, stable: np.ndarray, steps: int, agree: float = AGREE
) -> None:
    """Exit unless all contenders reach the losses of the reference to `agree` in the stable schemes.

    Args:
        losses: by contender, (steps, schemes, networks).
        stable: which schemes are compared, from `find_stable_schemes`.
        steps: how many steps are compared, from the first.
    """
    for name, found in losses.items():
        compared = min(steps, len(found), len(losses[reference]))
        gap = np.abs(found[:compared, stable] / losses[reference][:compared, stable] - 1).max(initial=0.0)
        if not gap <= agree:
            raise SystemExit(f"The losses of {name} are {gap:.1e} from those of {reference}: not the same work.")


def name_excluded(case: Case, stable: np.ndarray) -> str:
    """Return the keys of the schemes whose losses are not compared; a dash if there are none."""
    return ", ".join(key for key, is_stable in zip(case.schemes, stable, strict=True) if not is_stable) or "–"
