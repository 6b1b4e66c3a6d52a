"""One cell of Table 1 as a plain PyTorch script that prints the verdict of the app.

This module computes the values of the template. A script's tensors have PyTorch's axes: (N, C) and weights (Cin, Cout)
in dense layers, (N, C, H, W) and (Cout, Cin, kh, kw) in convolutions. Its random numbers are drawn as in
`make_problem`, so its losses are the app's.
"""

from dataclasses import dataclass, replace
from math import log2, prod

from normviz.core.fields import AXIS_NAMES, Field, Rule
from normviz.core.kinds.general import GENERAL
from normviz.core.registry import Scheme
from normviz.core.text import typeset
from normviz.core.theory import explain_degeneracy, predict
from normviz.core.tolerances import CONTROL_MARGINS, CONTROL_ROUNDINGS
from normviz.core.transformations import Transformation
from normviz.data.digits import DIGIT_CLASSES, DIGIT_SIDE
from normviz.describe.code import AveragingStep, format_argument_code, list_averaging_steps, render_template
from normviz.describe.kinds import KIND_FORMULAS
from normviz.describe.parameters import CHANNELS_FIRST_AXES
from normviz.topics.table1.forward import has_eps
from normviz.topics.table1.verdict import APART_FACTOR, DIVERGENCE_FACTOR, MIN_PROPORTION, ROUNDING_SHARES
from normviz.train.problem import PROBE_SIZE
from normviz.train.setting import BETAS, GRADIENT_NOISE_FACTOR, HALF_DTYPES, INITIAL_BIAS, MOMENTUM, Setting

SCRIPT_LINE_LENGTH = 100
"""Longest line of a script."""


def format_cell_script(
    scheme: Scheme, transformation: Transformation, setting: Setting, has_matched_rate: bool = True
) -> str:
    """Return a PyTorch script that trains the networks of one cell of Table 1 and prints the verdict.

    With `has_matched_rate` the learning rate of re-scaled weights is scaled, too. Raises InvalidInput if a field of the
    scheme does not fit the setting's layers.
    """
    setting.check([scheme])
    parts = [part for part in (scheme.weight_part, scheme.activation_part) if part is not None and part.has_effect]
    normalizers = [_build_normalizer(part, setting) for part in parts]
    eps = setting.eps if any(map(has_eps, parts)) else None
    return render_template(
        "cell_script.py.jinja", scheme=scheme, change=transformation, setting=setting, line=SCRIPT_LINE_LENGTH,
        conditions=_format_conditions(transformation, setting, eps, has_matched_rate),
        numbers=_collect_numbers(transformation, setting, eps),
        normalizers=normalizers,
        windows=any(step.kind == "window" for part in normalizers for mean in part.averages for step in mean.steps),
        half=setting.dtype in HALF_DTYPES,
        power=round(log2(transformation.compute_rate_factor(setting.optimizer, 2.0))) if has_matched_rate else 0,
        positions=prod(setting.shapes[-1][1:3]),
        degenerate=explain_degeneracy(scheme, setting.shapes[0], setting.eps, setting.dtype),
        unchanged=transformation.factor is not None and setting.delta == 1.0,
        parted=not has_matched_rate and transformation.compute_rate_factor(setting.optimizer, setting.delta) != 1.0,
        size=_format_size_code(transformation, setting),
        fades=predict(
            scheme, transformation, setting.layer, setting.shapes[0], setting.weight_shapes[0], setting.eps
        ).fades,
        margins=CONTROL_MARGINS[setting.dtype], shows=ROUNDING_SHARES, apart=APART_FACTOR,
        out_of_proportion=MIN_PROPORTION, magnified=CONTROL_ROUNDINGS[setting.dtype], probe=PROBE_SIZE,
        diverged=int(DIVERGENCE_FACTOR), side=DIGIT_SIDE, classes=DIGIT_CLASSES, shift=setting.shift,
        first_bias=INITIAL_BIAS, noise=GRADIENT_NOISE_FACTOR,
    )  # fmt: skip


def _format_conditions(change: Transformation, setting: Setting, eps: float | None, has_matched_rate: bool) -> str:
    """Return the conditions of a cell in words: "2 conv layers, δ = 3, ε = 0, float64, sgd, equal learning rates"."""
    parts = [f"{setting.depth} {setting.layer} layers" if setting.depth > 1 else setting.layer]
    parts += [f"δ = {typeset(setting.delta)}"] if change.factor is not None else []
    parts += [f"ε = {typeset(eps)}"] if eps is not None else []
    parts += [setting.dtype, setting.optimizer]
    parts += ["equal learning rates"] if change.weight_factor is not None and not has_matched_rate else []
    return ", ".join(parts)


def _format_size_code(change: Transformation, setting: Setting) -> str:
    """Return Python code that computes the size of a transformation, as `verdict.compute_change_size` does."""
    if change.factor is not None:
        return "min(1.0, abs(delta - 1))"
    return str(min(1.0, setting.shift)) if change.on == "weights" else "min(1.0, tau.square().mean().sqrt().item())"


def _collect_numbers(change: Transformation, setting: Setting, eps: float | None) -> dict[str, float | None]:
    """Return the numbers that the script defines, by their names in it."""
    memory: dict[str, dict[str, float | None]]
    memory = {"momentum": {"momentum": MOMENTUM}, "adam": {"beta1": BETAS[0], "beta2": BETAS[1]}}
    numbers: dict[str, float | None] = {"rate": setting.rate}
    numbers |= {"delta": setting.delta} if change.factor is not None else {}
    numbers |= {"eps": eps} if eps else {}
    return numbers | memory.get(setting.optimizer, {})


@dataclass(frozen=True)
class ScriptAverage:
    """Code of one average over a field in the script: the averaged axes in words, and the steps that compute it.

    `function`: name of its function in the script; None if a mean over whole axes, or none, is enough.
    """

    over: str
    steps: tuple[AveragingStep, ...]
    function: str | None


@dataclass(frozen=True)
class ScriptNormalizer:
    """Code of the function that normalizes the weights w or the pre-activations a in the script.

    It computes the general form, spectral norm, whitening, or f(αx + s) of every element.

    Attributes:
        function, x, axes: its name, the name of its argument, and the argument's axes in PyTorch.
        centre, square: E_A and E_B; None if there is no such step.
        takes_eps: True if the setting's ε is added under the root.
        inside: αx + s in code, the argument of a pointwise scheme's function.
        matrices: number of whitened groups of channels; 0 for none, or if each is one channel, which is batch norm.
    """

    scheme: Scheme
    function: str
    x: str
    axes: tuple[str, ...]
    centre: ScriptAverage | None
    square: ScriptAverage | None
    takes_eps: bool
    inside: str
    matrices: int

    @property
    def averages(self) -> list[ScriptAverage]:
        """The averages `centre` and `square`, without None, and once if both are the same."""
        return list(dict.fromkeys(average for average in (self.centre, self.square) if average is not None))

    @property
    def letters(self) -> str:
        """The index letters of `axes`, such as "nc"."""
        return "".join(AXIS_NAMES[axis].letter for axis in self.axes)

    @property
    def description(self) -> str:
        """The computation in words: "Mean and mean square over N, H, W"."""
        own = KIND_FORMULAS[self.scheme.kind.key].describe_computation(self.axes, self.matrices)
        if own is not None:
            return own
        if self.centre is not None and self.centre == self.square:
            return f"Mean and mean square over {self.centre.over}"
        named = {"Mean": self.centre, "Mean square": self.square}
        return "; ".join(f"{name} over {average.over}" for name, average in named.items() if average is not None)


def _build_normalizer(scheme: Scheme, setting: Setting) -> ScriptNormalizer:
    x, suffix, shapes = {
        "activation": ("a", "", setting.shapes), "weight": ("w", "_weights", setting.weight_shapes)
    }[scheme.tensor]  # fmt: skip
    dense = {"activation": ("N", "C"), "weight": ("Cin", "Cout")}
    axes = (dense if setting.layer == "dense" else CHANNELS_FIRST_AXES)[scheme.tensor]
    sizes = dict(zip(scheme.axes, zip(*shapes, strict=True), strict=True))

    def average(field: Field | None, name: str) -> ScriptAverage | None:
        if field is None:
            return None
        rules = dict(zip(scheme.axes, field.rules, strict=True))
        return _build_average([_simplify_rule(rules[axis], sizes[axis]) for axis in axes], axes, name + suffix)

    matrices = scheme.count_covariances(shapes[0])
    if matrices == shapes[0][-1]:
        scheme, matrices = replace(scheme, suppression=scheme.summation, kind=GENERAL), 0
    alike = len(set(scheme.fields)) == 1
    centre, square = scheme.kind.find_averaging_fields(scheme)
    return ScriptNormalizer(
        scheme=scheme, function="normalize" + suffix, x=x, axes=axes,
        centre=average(centre, "average" if alike else "centre_average"),
        square=average(square, "average" if alike else "square_average"), takes_eps=has_eps(scheme),
        inside=format_argument_code(scheme, x),
        matrices=matrices,
    )  # fmt: skip


def _build_average(rules: list[Rule], axes: tuple[str, ...], name: str) -> ScriptAverage:
    """Return the `ScriptAverage` of these rules; `name` is its function's name, if it needs a function."""
    words = {"full": "{axes}", "groups": "each of {number} groups of {axes}", "window": "±{number} along {axes}"}
    taken = list_averaging_steps(rules)
    over = (
        words[step.kind].format(axes=", ".join(axes[axis] for axis in step.axes), number=step.number) for step in taken
    )
    plain = all(step.kind == "full" for step in taken)
    return ScriptAverage(", ".join(over) or "single elements", taken, None if plain else name)


def _simplify_rule(rule: Rule, sizes: tuple[int, ...]) -> Rule:
    """Return the rule "own" or "full" if groups or windows amount to it for all `sizes`; otherwise the rule itself."""
    same = {rule.simplify(n) for n in sizes}
    return same.pop() if rule.parameter is not None and len(same) == 1 else rule
