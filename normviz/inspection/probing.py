"""Probing of a function of a tensor: which elements share statistics, and whether it is y = γ x̂ + β.

All probes use random inputs and random learned parameters, so dead channels and γ = 0 hide nothing. Only ε, γ and β are
measured with the layer's own parameters.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import product
from math import prod

import torch
from torch import Tensor

from normviz.core.fields import FULL, OWN, Rule

MOVED = 1e-12
"""An output that changes by more than this share of the largest one depends on the changed input."""

EXACT, SINGLE = 1e-8, 2e-4
"""Largest residual of a fit over the largest output: in float64, and in layers that compute in float32."""

BASES = 8
"""The number of further inputs at which an element is changed if what moves is no field."""

LARGE, SMALL = 1e4, 1e-3
"""Scales of the inputs at which ε vanishes, and at which it shows."""

BOUND = 1e6
"""An input at which a bounded function of each element has reached its bound."""

SHORT = 8
"""The length to which long axes are cut; axes of one element get half of it."""

REPEATS = 6
"""The number of random inputs of a fit with γ and β for each element."""

Rules = tuple[Rule, ...]
"""A rule for each axis of an array."""


@dataclass(frozen=True)
class Probe:
    """Result of probing a layer as a function of an array: what it averages over, its formula, γ, β and ε.

    Attributes:
        mean: the rules of the field whose mean is subtracted; None: none is.
        divisor: the rules of the field whose root mean square divides; None: none does.
        form: "general" for y = γ x̂ + β, "tanh" or "erf" for a function of each element, "local response" for a power
            of a sum of squares, "proportional" for an output proportional to the input, "unknown" for any other output
            that does not depend on the input's scale.
        gain, bias: γ and β for each element; None where the form has none.
        gain_axes, bias_axes: the axes along which γ and β vary as they are learned.
        eps: ε; None if none was found.
        is_eps_inside: True if ε is added to the variance, False if it is added to its root.
        is_single: True if the function computes in float32 whatever its input is.
        parameters: further numbers of the form, such as α.
    """

    mean: Rules | None
    divisor: Rules | None
    form: str = "general"
    gain: Tensor | None = None
    bias: Tensor | None = None
    gain_axes: tuple[int, ...] = ()
    bias_axes: tuple[int, ...] = ()
    eps: float | None = None
    is_eps_inside: bool = True
    is_single: bool = False
    parameters: tuple[tuple[str, float], ...] = ()


def probe_function(
    compute: Callable[[Tensor], Tensor], shape: Sequence[int], parameters: Sequence[Tensor], is_fixed: bool = False
) -> Probe | None:
    """Return what a function with these parameters computes, by its outputs; None if it is no normalization.

    The parameters are changed while it is probed. `is_fixed`: True if the function takes no other shape.
    """
    shape = tuple(shape) if is_fixed else choose_probe_shape(compute, shape)
    x = _draw(shape, 0)
    with randomize_parameters(parameters):
        y = compute(x)
        if y.shape != x.shape or not torch.isfinite(y).all() or float(y.std(correction=0)) == 0:
            return None
        rules = find_field_rules(compute, x, y)
        if rules is None:
            return None
        is_single = _is_single_precision(compute, x, y)
        if all(rule == OWN or n == 1 for rule, n in zip(rules, shape, strict=True)):
            found = _probe_pointwise(compute, shape, parameters)
        else:
            found = _probe_shared(compute, x, y, rules, is_single)
        if found is None:
            return None
        size = 0.0 if found.gain is None else float(found.gain.abs().max())
        gain_axes, bias_axes = find_parameter_axes(found.gain), find_parameter_axes(found.bias, size)
    if found.form in ("tanh", "erf"):
        measured = _fit_pointwise(compute, shape)
        return replace(measured or found, gain_axes=gain_axes, bias_axes=bias_axes, is_single=is_single)
    if found.form != "general":
        return replace(found, is_single=is_single)
    measured = _fit_general_form(compute, shape, [(found.mean, found.divisor)], SINGLE if is_single else EXACT)
    if measured is None:
        return None
    measured = replace(measured, gain_axes=gain_axes, bias_axes=bias_axes, is_single=is_single)
    eps, is_inside = _measure_eps(compute, shape, measured)
    return replace(measured, eps=eps, is_eps_inside=is_inside)


def choose_probe_shape(compute: Callable[[Tensor], Tensor], shape: Sequence[int]) -> tuple[int, ...]:
    """Return a shape that `compute` takes and that is quick to probe, with axes cut to `SHORT` elements if possible."""
    chosen = tuple(shape)
    for axis, n in enumerate(shape):
        if n == 1 or n > 1.5 * SHORT:
            tried = (*chosen[:axis], SHORT if n > 1 else SHORT // 2, *chosen[axis + 1 :])
            try:
                if compute(_draw(tried, 0)).shape == tried:
                    chosen = tried
            except (RuntimeError, ValueError, IndexError, TypeError):
                continue
    return chosen


def find_field_rules(compute: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> Rules | None:
    """Return for each axis the rule by which outputs change with an element of x; None if no rules describe them."""
    sightings: list[list[tuple[int, list[int]]]] = [[] for _ in x.shape]
    for k in range(4):
        place = tuple((0, n // 2, n - 1, min(n - 1, n // 3 + 1))[(k + axis) % 4] for axis, n in enumerate(x.shape))
        moved = _find_changed_outputs(compute, x, y, place)
        for seed in range(20, 20 + BASES):  # a threshold may hold some elements of a field at some inputs
            if _is_box(moved):
                break
            other = _draw(x.shape, seed)
            moved |= _find_changed_outputs(compute, other, compute(other), place)
        if not _is_box(moved):
            return None
        for axis, line in enumerate(_project_on_axes(moved)):
            sightings[axis].append((place[axis], line.nonzero().flatten().tolist()))
    rules = tuple(_match_rule(seen, n) for seen, n in zip(sightings, x.shape, strict=True))
    return None if None in rules else tuple(rule for rule in rules if rule is not None)


def average_by_rules(x: Tensor, rules: Rules) -> Tensor:
    """Return the averages of an array over the fields of these rules, broadcast to the shape of x."""
    for axis, rule in enumerate(rules):
        n = x.shape[axis]
        if rule == FULL:
            x = x.mean(axis, keepdim=True).expand_as(x)
        elif rule.kind == "groups":
            grouped = x.unflatten(axis, (rule.parameter_or_zero, -1))
            x = grouped.mean(axis + 1, keepdim=True).expand_as(grouped).flatten(axis, axis + 1)
        elif rule.kind == "window":
            bounds = torch.from_numpy(rule.compute_bounds(n).copy())
            sums = torch.cat([torch.zeros_like(x.narrow(axis, 0, 1)), x.cumsum(axis)], axis)
            total = sums.index_select(axis, bounds[:, 1]) - sums.index_select(axis, bounds[:, 0])
            lengths = (bounds[:, 1] - bounds[:, 0]).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
            x = total / lengths
    return x


def normalize_by_rules(x: Tensor, mean: Rules | None, divisor: Rules | None, eps: float = 0.0) -> Tensor:
    """Return x̂ of the general form: v = x - E_A[x], x̂ = v / sqrt(ε + E_B[v²]); None for no mean or no divisor."""
    v = x if mean is None else x - average_by_rules(x, mean)
    return v if divisor is None else v / (average_by_rules(v * v, divisor) + eps).sqrt()


@contextmanager
def randomize_parameters(tensors: Sequence[Tensor]) -> Iterator[None]:
    """Set the floating-point tensors to random numbers from 0.5 to 1.5 inside the block, and restore them after it."""
    before = [tensor.detach().clone() for tensor in tensors]
    generator = torch.Generator().manual_seed(3)
    try:
        for tensor in tensors:
            if tensor.is_floating_point():
                tensor.data.copy_(0.5 + torch.rand(tensor.shape, generator=generator, dtype=torch.float64))
        yield
    finally:
        for tensor, value in zip(tensors, before, strict=True):
            tensor.data.copy_(value)


def find_parameter_axes(values: Tensor | None, size: float = 0.0) -> tuple[int, ...]:
    """Return the axes along which an array varies by more than 10⁻⁵ of `size` or, if larger, its own largest number."""
    if values is None:
        return ()
    off = 1e-5 * max(float(values.abs().max()), size)
    return tuple(axis for axis in range(values.ndim) if float((values - values.narrow(axis, 0, 1)).abs().max()) > off)


def _probe_shared(
    compute: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, rules: Rules, is_single: bool
) -> Probe | None:
    tolerance = SINGLE if is_single else EXACT
    large, larger = compute(LARGE * x), compute(2 * LARGE * x)
    size = float(large.abs().max())
    if not torch.isfinite(larger).all():
        return None
    divides = float((larger - large).abs().max()) <= tolerance * size
    centres = float((compute(x + 3.0) - y).abs().max()) <= tolerance * float(y.abs().max())
    if not divides and not centres:
        return _probe_local_response(compute, x, rules)
    parts = list(_iterate_subfields(rules))
    means = [None, *parts]
    candidates = [(mean, divisor) for mean in means for divisor in (parts if divides else [None]) if mean or divisor]
    candidates.sort(key=lambda pair: sum(each not in (None, rules) for each in pair))
    found = _fit_general_form(compute, x.shape, candidates, tolerance)
    if found or not divides or float((compute(2 * x) - y).abs().max()) > 0.01 * float(y.abs().max()):
        return found
    ratio = y / x
    is_proportional = float((ratio - ratio.flatten()[0]).abs().max()) <= tolerance * float(ratio.abs().max())
    return Probe(rules if centres else None, rules, "proportional" if is_proportional else "unknown")


def _iterate_subfields(rules: Rules) -> Iterator[Rules]:
    """Yield the rules themselves, then all variants with `own` in place of some rules."""
    choices = [(rule,) if rule == OWN else (rule, OWN) for rule in rules]
    yield from (each for each in product(*choices) if any(rule != OWN for rule in each))


def _fit_general_form(
    compute: Callable[[Tensor], Tensor],
    shape: Sequence[int],
    candidates: Sequence[tuple[Rules | None, Rules | None]],
    tolerance: float,
) -> Probe | None:
    """Fit γ and β per element to the rules (mean, divisor) of each candidate; return the first good fit, or None."""
    inputs = [LARGE * _draw(shape, seed) for seed in range(1, REPEATS + 1)]
    outputs = torch.stack([compute(x) for x in inputs])
    middle = outputs.mean(0)
    scale = float(outputs.abs().max())
    for mean, divisor in candidates:
        normal = torch.stack([normalize_by_rules(x, mean, divisor) for x in inputs])
        if not torch.isfinite(normal).all():
            continue
        v = normal - normal.mean(0)
        power = (v * v).sum(0)
        gain = torch.where(power > 0, (v * (outputs - middle)).sum(0) / power.clamp(min=1e-300), 0.0)
        bias = middle - gain * normal.mean(0)
        if float((outputs - gain * normal - bias).abs().max()) <= tolerance * max(scale, 1e-300):
            return Probe(mean, divisor, gain=gain, bias=bias)
    return None


def _measure_eps(compute: Callable[[Tensor], Tensor], shape: Sequence[int], probe: Probe) -> tuple[float | None, bool]:
    """Return ε, measured from the outputs for small inputs, or None, and whether it is added under the root."""
    if probe.divisor is None or probe.gain is None or probe.bias is None:
        return None, True
    estimates = []
    for scale in (SMALL, 10 * SMALL):
        x = scale * _draw(shape, 11)
        v = x if probe.mean is None else x - average_by_rules(x, probe.mean)
        square = average_by_rules(v * v, probe.divisor)
        sure = ((probe.gain.abs() > 1e-3 * probe.gain.abs().max()) & (v * v > 0.25 * square)) & (probe.gain != 0)
        if not sure.any():
            return None, True
        normal = (compute(x) - probe.bias)[sure] / probe.gain[sure]
        root = (v[sure] / normal).abs()
        inside = float((root * root - square[sure]).median())
        outside = float((root - square[sure].sqrt()).median())
        estimates.append((inside, outside))
    (inside, outside), (inside_again, outside_again) = estimates
    is_inside = abs(inside_again - inside) <= abs(outside_again - outside) * (abs(inside) / max(abs(outside), 1e-300))
    eps = inside if is_inside else outside
    return (0.0 if eps < (1e-12 if probe.is_single else 1e-15) else float(f"{eps:.4g}")), is_inside


def _probe_pointwise(
    compute: Callable[[Tensor], Tensor], shape: Sequence[int], learned: Sequence[Tensor]
) -> Probe | None:
    """Return the fit of γ f(αx + s) + β, f = tanh or erf, if α is one of the `learned` numbers, else None."""
    values = torch.cat([torch.zeros(0, dtype=torch.float64), *(each.detach().double().flatten() for each in learned)])
    found = _fit_pointwise(compute, shape)
    if found is None or not values.numel():
        return None
    alpha = dict(found.parameters)["alpha"]
    return found if float((values - alpha).abs().min()) <= 1e-6 * abs(alpha) else None


def _fit_pointwise(compute: Callable[[Tensor], Tensor], shape: Sequence[int]) -> Probe | None:
    """Return the fit of γ f(αx + s) + β to each element, f = tanh or erf; None if it does not fit."""

    def at(value: float) -> Tensor:
        return compute(torch.full(tuple(shape), value, dtype=torch.float64))

    high, higher, low = at(BOUND), at(2 * BOUND), at(-BOUND)
    if not torch.isfinite(higher).all() or not torch.equal(high, higher):
        return None
    gain, bias = (high - low) / 2, (high + low) / 2
    sure = gain.abs() > 0
    if not sure.any():
        return None
    points = (-0.7, 0.1, 0.9)
    for form, invert in (("tanh", torch.atanh), ("erf", torch.erfinv)):
        arguments = [invert((at(point) - bias)[sure] / gain[sure]) for point in points]
        slopes = [(b - a) / (q - p) for a, b, p, q in zip(arguments, arguments[1:], points, points[1:], strict=False)]
        alpha = float(slopes[0].mean())
        if all(float((slope - alpha).abs().max()) <= EXACT * abs(alpha) * 10 for slope in slopes) and alpha != 0:
            shift = float((arguments[1] - alpha * points[1]).mean())
            parameters = (("alpha", alpha), *((("shift", shift),) if abs(shift) > 1e-9 else ()))
            return Probe(None, None, form, gain, bias, parameters=parameters)
    return None


def _probe_local_response(compute: Callable[[Tensor], Tensor], x: Tensor, rules: Rules) -> Probe | None:
    """Return the fit of x / (k + a Σ x²)^b, the sum over the fields of these rules; None if it does not fit."""
    large, larger = (compute(scale * x) / (scale * x) for scale in (BOUND**2, 2 * BOUND**2))
    power = -torch.log2(larger / large) / 2
    b = float(power.median())
    if not torch.isfinite(power).all() or b <= 1e-3 or float((power - b).abs().max()) > 1e-6:
        return None
    count = torch.ones_like(x)
    for axis, (rule, n) in enumerate(zip(rules, x.shape, strict=True)):
        low, high = torch.from_numpy(rule.compute_bounds(n).copy()).unbind(1)
        count = count * (high - low).reshape([-1 if k == axis else 1 for k in range(x.ndim)])
    total = average_by_rules(x * x, rules) * count
    inverse = (compute(x) / x).pow(-1 / b)
    centred = total - total.mean()
    a = float((centred * (inverse - inverse.mean())).sum() / (centred * centred).sum())
    k = float((inverse - a * total).mean())
    if not float((inverse - k - a * total).abs().max()) <= 1e-6 * float(inverse.abs().max()):
        return None
    return Probe(None, rules, "local response", parameters=(("k", k), ("a", a), ("b", b)))


def _is_single_precision(compute: Callable[[Tensor], Tensor], x: Tensor, y: Tensor) -> bool:
    """Return True if most outputs ignore a change of the inputs that only float64 resolves."""
    nudged = compute(x * (1 + 1e-12 * torch.sign(_draw(x.shape, 12))))
    return float((nudged == y).double().mean()) > 0.5


def _draw(shape: Sequence[int], seed: int) -> Tensor:
    return torch.randn(tuple(shape), generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def _find_changed_outputs(compute: Callable[[Tensor], Tensor], x: Tensor, y: Tensor, place: tuple[int, ...]) -> Tensor:
    """Return a boolean array of the outputs that change if the element of x at `place` changes."""
    changed = x.clone()
    changed[place] += 7.0
    return (compute(changed) - y).abs() > MOVED * y.abs().max()


def _project_on_axes(moved: Tensor) -> list[Tensor]:
    """Return for each axis a boolean vector of the indices that hold an element that changed."""
    axes = range(moved.ndim)
    return [moved.any(dim=[other for other in axes if other != axis]) if moved.ndim > 1 else moved for axis in axes]


def _is_box(moved: Tensor) -> bool:
    """Return True if the changed elements are all combinations of some indices of each axis."""
    return bool(moved.any()) and int(moved.sum()) == prod(int(line.sum()) for line in _project_on_axes(moved))


def _match_rule(seen: Sequence[tuple[int, list[int]]], n: int) -> Rule | None:
    """Return the rule of an axis of length n that explains which indices changed with each index seen, or None."""
    if all(len(moved) == n for _, moved in seen):
        return FULL
    if all(moved == [index] for index, moved in seen):
        return OWN
    sizes = {len(moved) for _, moved in seen}
    candidates = [Rule("groups", n // size) for size in sizes if n % size == 0]
    reach = max(max(index - moved[0], moved[-1] - index) for index, moved in seen)
    candidates.append(Rule("window", reach))
    for rule in candidates:
        bounds = rule.compute_bounds(n)
        if all(moved == list(range(*bounds[index].tolist())) for index, moved in seen):
            return rule
    return None
