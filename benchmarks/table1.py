"""How long the networks of Table 1 take to train: as one stack, as separate modules, and by `torch.func`.

`.venv/bin/python benchmarks/table1.py`, ten minutes on a quiet machine. Every contender trains the same seven networks
of every scheme (the original and its six twins) from the same numbers on the same mini-batches, and has to reach the
same losses.
"""

import argparse
import os
import platform
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import numpy as np
import paths  # noqa: F401  (normviz and the helpers of the tests)
import torch
from torch import Tensor, nn
from torch.func import functional_call, grad_and_value, stack_module_state, vmap
from torch.nn.utils.parametrizations import weight_norm
from torch.nn.utils.parametrize import register_parametrization
from torch.overrides import TorchFunctionMode

from normviz.core.normalize import normalize
from normviz.core.schemes import SCHEMES, Scheme, get_scheme
from normviz.networks.problem import NETWORKS, Problem, make_problem
from normviz.networks.setting import Setting
from normviz.networks.stack import FIRST_BIAS
from normviz.networks.twins import prepare, train

TWINS = [at for at, network in enumerate(NETWORKS) if network.follows and not network.disturbed]
"""The original and its six twins. The engine can train more (at an equal rate, disturbed); here nobody does."""

PAPER = ("batch", "weight", "layer")
ALL = (*PAPER, *(key for key in SCHEMES if key not in (*PAPER, "custom")))
EPS, RATE = 1e-5, 0.02
"""As in torch.nn; and a rate at which every training is stable. At 0.1 divisive normalization of a dense layer makes
other losses of rounding errors, so that nothing could be compared. Neither changes the work."""

AGREE = 1e-6
"""How far losses may be from the engine's, relative; measured: 1e-12."""

Trainer = Callable[[Sequence[Scheme], Setting], np.ndarray]
"""From the setting to the losses, (steps, schemes, networks); data and networks are made anew every time."""


@dataclass(frozen=True)
class Case:
    """What is trained: 7 networks a scheme, of one normalized layer."""

    layer: str = "dense"
    schemes: tuple[str, ...] = PAPER
    width: int = 32
    batch: int = 32


CASES = {
    "the paper's schemes": (Case(), Case("conv", width=8), Case("conv")),
    "width": tuple(Case(width=width) for width in (16, 32, 64, 128)),
    "batch": tuple(Case(batch=batch) for batch in (16, 32, 128)),
    "number of networks": (*(Case(schemes=ALL[:n]) for n in (1, 3, 6, len(ALL))), Case("conv", ALL, width=8)),
}
SMALLEST = {"the smallest": (Case(schemes=ALL, width=6, batch=8), Case("conv", ALL, width=6, batch=8))}


class Affine(nn.Module):
    """γ x + β by channel, for what torch.nn normalizes without."""

    def __init__(self, width: int, axes: int) -> None:
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.empty(width, *[1] * axes)) for _ in range(2))

    def forward(self, x: Tensor) -> Tensor:
        """A channels-first tensor."""
        return x * self.weight + self.bias


class Kernel(nn.Module):
    """What torch.nn lacks: normviz's own function with autograd, on channels-first tensors."""

    def __init__(self, scheme: Scheme, eps: float, axes: tuple[int, ...]) -> None:
        super().__init__()
        self.scheme, self.eps, self.axes = scheme, eps, axes

    def forward(self, x: Tensor) -> Tensor:
        """The tensor normalized, in its own layout; `axes` brings it to that of the fields."""
        full = (x if x.ndim == 4 else x[..., None, None]).permute(self.axes)
        out = normalize(full, self.scheme, self.eps).xhat
        return out.permute(*np.argsort(self.axes).tolist()).reshape(x.shape)


def build(scheme: Scheme, setting: Setting, problem: Problem, network: int) -> nn.Sequential:
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
        first.bias = nn.Parameter(torch.full((width,), FIRST_BIAS, dtype=torch.float64))
        weight_norm(first).parametrizations.weight.original0.data.fill_(1.0)
    elif scheme.on_weights is not None:
        register_parametrization(first, "weight", Kernel(scheme.on_weights, 0.0, (2, 3, 1, 0)))
    for name, parameter in norm.named_parameters():
        parameter.data.fill_(1.0 if name.endswith("weight") else FIRST_BIAS)
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
    if scheme.on_activations is None or not scheme.fields:
        return affine
    return nn.Sequential(Kernel(scheme, eps, (0, 2, 3, 1)), affine)


class Batches:
    """The mini-batches of a problem as images or vectors, by network."""

    def __init__(self, problem: Problem, setting: Setting) -> None:
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
        """Inputs of one network or of all, and labels."""
        chosen = self.order[step]
        return torch.addcmul(self.shift[network], self.inputs[chosen], self.factor[network]), self.labels[chosen]


def rate_of(name: str, parameter: Tensor, rates: np.ndarray, setting: Setting) -> Tensor:
    """The learning rate of a parameter: that of the normalized weights is the twin's, by unit."""
    if not name.startswith("0.") or name.endswith(("bias", "original0")):
        return torch.tensor(setting.rate, dtype=torch.float64, device=setting.device)
    by_unit = torch.tensor(rates, device=setting.device).flatten(-4)
    return by_unit.view(*by_unit.shape, *[1] * (parameter.ndim - by_unit.ndim))


def engine(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """This project's: all networks of all schemes as one stack, with derivatives by hand."""
    return train(schemes, setting, networks=TWINS).losses


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


def func(schemes: Sequence[Scheme], setting: Setting) -> np.ndarray:
    """`vmap` of `grad` of the same module over the stacked networks, a stack per scheme."""
    problem = make_problem(setting, TWINS)
    batches, losses = Batches(problem, setting), []
    for scheme in schemes:
        nets = [build(scheme, setting, problem, network) for network in range(len(TWINS))]
        parameters = {name: p.detach() for name, p in stack_module_state(nets)[0].items()}
        rates = {name: rate_of(name, p, problem.rates[0], setting) for name, p in parameters.items()}

        def loss(parameters: dict[str, Tensor], x: Tensor, labels: Tensor, net: nn.Module = nets[0]) -> Tensor:
            return nn.functional.cross_entropy(functional_call(net, parameters, (x,)), labels)

        derive, of_scheme = vmap(grad_and_value(loss), in_dims=(0, 0, None)), []
        for step in range(setting.steps):
            gradients, value = derive(parameters, *batches(step))
            for name, parameter in parameters.items():
                parameter.addcmul_(rates[name], gradients[name], value=-1)
            of_scheme.append(value)
        losses.append(torch.stack(of_scheme))
    return torch.stack(losses, 1).cpu().numpy()


CONTENDERS: dict[str, Trainer] = {"engine": engine, "modules": loops, "torch.func": func}


def set_up(case: Case, device: str, steps: int) -> tuple[list[Scheme], Setting]:
    """The schemes and the setting of a case."""
    sizes = {"steps": steps, "batch": case.batch, "width": case.width}
    return [get_scheme(key) for key in case.schemes], Setting(case.layer, eps=EPS, rate=RATE, device=device, **sizes)


def compare(case: Case, threads: int, device: str, steps: int, rounds: int) -> dict[str, list[float]]:
    """Milliseconds of every contender in every round, forwards and backwards in turn, after one that does not count."""
    torch.set_num_threads(threads)
    problem, times = set_up(case, device, steps), defaultdict(list)
    for number in range(rounds + 1):
        losses = {}
        for name in list(CONTENDERS)[:: -1 if number % 2 else 1]:
            begin = perf_counter()
            losses[name] = CONTENDERS[name](*problem)  # ends on the host, so the device has finished
            times[name].append((perf_counter() - begin) * 1000)
        for name in CONTENDERS:
            gap = np.abs(losses[name] / losses["engine"] - 1).max()
            if not gap <= AGREE:
                raise SystemExit(f"{case}: the losses of {name} are {gap:.1e} from the engine's; not the same work.")
    return {name: values[1:] for name, values in times.items()}


ENGINE = os.path.join("normviz", "networks")


class Clock(TorchFunctionMode):
    """Adds up the seconds inside of torch by what they are for, told by the engine's function that asks for them."""

    LOSS = ("logsumexp", "gather", "exp_", "scatter_add_", "full_like", "expand")
    PARTS = ("matrix products", "normalization", "loss", "γ, β, ReLU and their gradients", "update", "mini-batches")

    def __init__(self) -> None:
        super().__init__()
        self.seconds = dict.fromkeys(self.PARTS, 0.0)

    def __torch_function__(self, func: Callable, types: object, args: tuple = (), kwargs: dict | None = None) -> object:
        """Call, and book the time."""
        frame = sys._getframe(1)
        while ENGINE not in frame.f_code.co_filename:
            frame = frame.f_back
        code, begin = frame.f_code, perf_counter()
        out = func(*args, **(kwargs or {}))
        spent = perf_counter() - begin
        if func.__name__ != "__get__":  # a property, such as the shape
            self.seconds[self._part(func.__name__, code.co_filename, code.co_name)] += spent
        return out

    def _part(self, operation: str, file: str, function: str) -> str:
        products, normalization, loss, rest, update, batches = self.PARTS
        if function == "_each_scheme" or (operation == "matmul" and function == "gradients"):
            return products
        if file.endswith("gradient.py") or function in ("forward", "backward", "_each", "_rounded"):
            return normalization
        if operation in self.LOSS:
            return loss
        if function == "__call__" and file.endswith("stack.py"):
            return batches
        return rest if function == "gradients" else update


def profile(case: Case, steps: int, rounds: int) -> dict[str, float]:
    """Milliseconds of the engine's steps: all, and inside of torch by part, where the clock's own time is left out."""
    schemes, setting = set_up(case, "cpu", steps)
    found = defaultdict(list)
    for number in range(2 * (rounds + 1)):
        problem, clock = make_problem(setting, TWINS), Clock()
        with torch.inference_mode():
            data, stack = prepare(schemes, setting, problem, torch.device("cpu"), torch.float64)
            begin = perf_counter()
            with clock if number % 2 else nullcontext():
                for step in range(steps):
                    stack.step(*data(step))
        spent = clock.seconds if number % 2 else {"all": perf_counter() - begin}
        for part, seconds in spent.items():
            found[part].append(seconds * 1000)
    missed = [part for part, values in found.items() if not all(values)]
    if missed:
        raise SystemExit(
            f"No time for {', '.join(missed)}: Clock tells parts by names of functions; have they changed?"
        )
    return {part: median(values[1:]) for part, values in found.items()}


def spread(values: Iterable[float]) -> str:
    """Median, least and most."""
    values = sorted(values)
    return f"{median(values):.1f} ({values[0]:.1f}–{values[-1]:.1f})"


def show(title: str, rows: Iterable[Sequence[str]]) -> None:
    """A Markdown table, row by row; the first row is its head."""
    print(f"\n**{title}**\n")
    for number, row in enumerate(rows):
        print("| " + " | ".join(row) + " |", flush=True)
        if number == 0:
            print("|" + "---|" * len(row))


def words(case: Case, threads: int) -> list[str]:
    """A case as cells of a table."""
    count = len(case.schemes)
    return [case.layer, f"{count} × {len(TWINS)}", str(case.width), str(case.batch), str(threads)]


HEAD = ["layer", "schemes × networks", "width", "batch", "threads"]


def comparison(cases: Sequence[Case], threads: Sequence[int], device: str, steps: int, rounds: int) -> Iterable:
    """A row per case and number of threads."""
    yield [*HEAD, *(f"{name}, ms" for name in CONTENDERS), *(f"{name} / engine" for name in list(CONTENDERS)[1:])]
    for case in cases:
        for count in threads:
            times = compare(case, count, device, steps, rounds)
            ratios = ([a / b for a, b in zip(times[n], times["engine"], strict=True)] for n in list(CONTENDERS)[1:])
            yield [*words(case, count), *(f"{median(t):.0f}" for t in times.values()), *map(spread, ratios)]


def parts(cases: Sequence[Case], steps: int, rounds: int) -> Iterable:
    """Where the engine's time goes, on one thread: shares of what is spent inside of torch, and the price of the calls
    themselves, Python's and torch's: what the same steps take where there is next to nothing to compute."""
    torch.set_num_threads(1)
    yield [*HEAD, "all, ms", "of it calls: width 2, batch 2", *Clock.PARTS]
    for case in cases:
        times, calls = (profile(size, steps, rounds) for size in (case, replace(case, width=2, batch=2)))
        whole, inside = times["all"], sum(times[part] for part in Clock.PARTS)
        shares = (f"{times[part] / inside:.0%}" for part in Clock.PARTS)
        yield [*words(case, 1), f"{whole:.0f}", f"{calls['all'] / whole:.0%}", *shares]


def main() -> None:
    """Measure and print tables for benchmarks/README.md."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--smallest", action="store_true", help="two steps of small networks: does it run to its end?")
    parser.add_argument(
        "--threads", type=int, nargs="+", default=[1, 2], help="of the paper's schemes; the rest has one"
    )
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    options = parser.parse_args()
    if options.device == "cuda" and not torch.cuda.is_available():
        print("There is no CUDA device here; nothing was measured.")
        return
    warnings.filterwarnings("ignore", message="(?s).*batching rule")  # of torch.func, about weight_norm
    groups, steps, rounds, threads = CASES, 100, options.rounds, options.threads
    if options.smallest:
        groups, steps, rounds, threads = SMALLEST, 2, 1, [1]
    on_cpu = options.device == "cpu"
    name = "" if on_cpu else f", {torch.cuda.get_device_name()}"
    print(f"{os.cpu_count()} cores, {platform.machine()}{name}, load {os.getloadavg()[0]:.1f} at the start;")
    print(
        f"Python {platform.python_version()}, torch {torch.__version__}; {steps} steps, float64, SGD, {rounds} rounds."
    )
    for number, (title, cases) in enumerate(groups.items()):
        counts = threads if on_cpu and number == 0 else (1,)
        show(title, comparison(cases, counts, options.device, steps, rounds))
        if on_cpu and number == 0:
            show("where the engine's time goes", parts(cases, steps, rounds))


if __name__ == "__main__":
    main()
