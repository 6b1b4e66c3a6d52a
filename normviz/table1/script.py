"""One cell of Table 1 as a plain PyTorch script to show in class, which prints the verdict that the app shows.

All that the scheme, the transformation and the setting decide is decided here, so that the script has no cases. Its
tensors have PyTorch's axes: (N, C) and weights (Cin, Cout) in dense layers, (N, C, H, W) and (Cout, Cin, kh, kw) in
convolutions. Its random numbers are drawn as `make_problem` draws them, so its losses are the app's.
"""

from collections.abc import Iterable, Iterator
from math import log2
from textwrap import indent, wrap
from typing import NamedTuple

from normviz.core.fields import AXIS, FULL, Field, Rule
from normviz.core.schemes import Scheme
from normviz.core.theory import degenerate
from normviz.core.tolerances import CHAOTIC, INVARIANT, MARGIN
from normviz.core.transformations import Transformation
from normviz.data.digits import CLASSES, SIDE
from normviz.networks.problem import SHIFT
from normviz.networks.setting import BETAS, FIRST_BIAS, HALF, MOMENTUM, NOISE, Setting
from normviz.table1.table import DIVERGED

LINE = 100
"""The longest line of a script."""

Lines = Iterator[str]


def cell_script(scheme: Scheme, transformation: Transformation, setting: Setting, follow: bool = True) -> str:
    """A script that trains the original, its twin and the control as the app does, on the CPU, and prints the verdict.

    `follow`: whether the learning rate of re-scaled weights follows them. Raises InvalidInput where a field of the
    scheme does not fit the setting's layers.
    """
    setting.check([scheme])
    script = _Script(scheme, transformation, setting, follow)
    imports = ("import numpy as np", "import torch", "from sklearn.datasets import load_digits")
    top = (script.header(), imports, script.constants(), script.data())
    functions = (*script.normalizers(), script.network(), script.start(), script.train(), _GAP, script.verdict())
    return "\n\n".join(map("\n".join, top)) + "\n\n\n" + "\n\n\n".join(map("\n".join, functions)) + "\n"


class _Script:
    """The script of one cell; every method writes one part of it."""

    def __init__(self, scheme: Scheme, change: Transformation, setting: Setting, follow: bool) -> None:
        self.scheme, self.change, self.setting = scheme, change, setting
        self.dense, self.deep, self.short = setting.layer == "dense", setting.depth > 1, setting.dtype in HALF
        parts = (scheme.on_weights, scheme.on_activations)
        self.parts = [part for part in parts if part is not None and part.fields]
        self.eps = setting.eps if any(map(_takes_eps, self.parts)) else None
        # The power of δ by which the learning rate of the transformed weights is multiplied.
        self.power = round(log2(change.rate_factor(setting.optimizer, 2.0))) if follow else 0
        self.and_rates = ", rates" if self.power else ""
        self.arguments = "transformed, disturbed" if change.on == "weights" else "disturbed"
        self.conditions = f"{setting.depth} {setting.layer} layers" if self.deep else setting.layer
        self.conditions += f", δ = {setting.delta:g}" if change.factor is not None else ""
        self.conditions += f", ε = {self.eps:g}" if self.eps is not None else ""
        self.conditions += f", {setting.dtype}, {setting.optimizer}"
        self.conditions += ", equal learning rates" if change.weight_factor is not None and not follow else ""

    def header(self) -> Lines:
        """The docstring."""
        yield from wrap(f'"""Is {self.scheme.name} invariant to {self.change.name}, {self.change.plain}?', LINE)
        yield ""
        yield from wrap(
            f"Measured as a cell of Table 1 of Ba, Kiros & Hinton 2016: {self.conditions}. Three networks see the same "
            f"digits in the same order: the original, its twin with transformed {self.change.on}, and a control whose "
            "first weights are the original's but for rounding.",
            LINE,
        )
        yield '"""'

    def constants(self) -> Lines:
        """The setting, as far as it is used."""
        setting = self.setting
        yield f"seed, steps, batch, width = {setting.seed}, {setting.steps}, {setting.batch}, {setting.width}"
        numbers = {"rate": setting.rate}
        numbers |= {"delta": setting.delta} if self.change.factor is not None else {}
        numbers |= {"eps": self.eps} if self.eps else {}
        memory = {"momentum": {"momentum": MOMENTUM}, "adam": {"beta1": BETAS[0], "beta2": BETAS[1]}}
        numbers |= memory.get(setting.optimizer, {})
        yield f"{', '.join(numbers)} = {', '.join(str(float(number)) for number in numbers.values())}"
        yield f"dtype = torch.{setting.storage}"

    def data(self) -> Lines:
        """The digits, the mini-batches, and γ where the data are re-centred."""
        array, shape = ("data", f"{SIDE**2}") if self.dense else ("images[:, None]", f"1, {SIDE}, {SIDE}")
        yield "digits = load_digits()"
        yield f"images = torch.tensor(digits.{array} / 16, dtype=dtype)  # (1797, {shape})"
        yield "labels = torch.tensor(digits.target)"
        yield "rng = np.random.default_rng([seed, 0])"
        yield "epochs = [rng.permutation(len(images)) for _ in range(steps * batch // len(images) + 1)]"
        yield "batches = np.concatenate(epochs)[: steps * batch].reshape(steps, batch)"
        if self.change.on == "data" and self.change.factor is None:
            count, each = (SIDE**2, "pixel") if self.dense else (1, "input channel")
            yield f"gamma = {SHIFT} * np.random.default_rng([seed, 1]).standard_normal({count})"
            yield f"gamma = torch.tensor(gamma, dtype=dtype)  # one number for each {each}"

    def normalizers(self) -> Iterator[Iterable[str]]:
        """The functions that normalize, after those that they call."""
        functions = [list(lines) for part in self.parts for lines in _Normalizer(part, self.setting).functions()]
        if any("window(" in line for lines in functions for line in lines):
            yield _WINDOW
        yield from functions
        if self.short and self.parts:
            yield [line.format(self.setting.dtype) for line in _ROUNDED]

    def network(self) -> Lines:
        """Summed inputs → normalize → γ·+β → ReLU, in every layer, then the classifier."""
        h, w = "h" if self.deep else "x", "w"
        if self.scheme.on_weights in self.parts:
            w = self._normalized("normalize_weights", w)
        a = f"{h} @ {w}" if self.dense else f"torch.conv2d({h}, {w})"
        xhat = "a" if self.deep else a
        if self.scheme.on_activations in self.parts:
            xhat = self._normalized("normalize", xhat)
        logits = "h @ last + offset" if self.dense else "h.movedim(1, 3).flatten(1) @ last + offset  # by H, W, C"
        if not self.deep:
            yield "def network(x, w, gain, bias, last, offset):"
            yield '    """The normalized summed inputs and the logits."""'
            yield f"    xhat = {xhat}"
            yield "    h = torch.relu(gain * xhat + bias)"
            yield f"    return xhat, {logits}"
            return
        each = {"w": "hidden[0::3]", "gain": "hidden[1::3]", "bias": "hidden[2::3]"}
        yield "def network(x, *parameters):"
        yield '    """The normalized summed inputs of the first layer and the logits."""'
        yield "    *hidden, last, offset = parameters"
        yield "    h, normalized = x, []"
        if self.short and self.parts:
            each["kind"] = "kinds"
            yield f"    kinds = [torch.{self.setting.dtype}{', dtype' * (self.setting.depth - 1)}]"
        yield f"    for {', '.join(each)} in zip({', '.join(each.values())}):"
        yield f"        a = {a}"
        yield f"        normalized.append({xhat})"
        yield "        h = torch.relu(gain * normalized[-1] + bias)"
        yield f"    return normalized[0], {logits}"

    def start(self) -> Lines:
        """The parameters before training, and their learning rates where those of re-scaled weights follow."""
        (_, height, columns, _), k, n = self.setting.shapes[-1], self.setting.kernel, self.setting.depth
        units, features = ("width", "width") if self.dense else ("(width, 1, 1)", "features")
        first, later = (f"({SIDE**2}, ", "(width, ") if self.dense else (f"({k}, {k}, 1, ", f"({k}, {k}, width, ")
        shapes = ", ".join(f"{fan_in}width)" for fan_in in (first, *[later] * (n - 1)))
        axes = "" if self.dense else "  # kh, kw, Cin, Cout"
        layer, output = f"w, np.ones({units}), np.full({units}, {FIRST_BIAS})", f"last, np.zeros({CLASSES})"
        yield f"def start({self.arguments}):"
        yield f'    """The first parameters{" and their learning rates" if self.power else ""}."""'
        if self.deep:
            yield f"    parameters{', rates = [], []' if self.power else ' = []'}"
            yield f"    shapes = [{shapes}]"
            yield f"    for layer, shape in enumerate(shapes):{axes}"
            yield "        rng = np.random.default_rng([seed, 2 + layer])"
            yield from _indented(self._weights(), 2)
            yield f"        parameters += [{layer}]"
            if self.power:
                yield "        rates += [lr, rate, rate]"
        else:
            yield f"    shape = {shapes}{axes}"
            yield "    rng = np.random.default_rng([seed, 2])"
            yield from _indented(self._weights())
        if not self.dense:
            yield f"    features = {height * columns} * width"
        yield f"    rng = np.random.default_rng([seed, {2 + n}])"
        yield f"    last = rng.standard_normal(({features}, {CLASSES})) * {features}**-0.5"
        yield f"    parameters += [{output}]" if self.deep else f"    parameters = {layer}, {output}"
        if self.power:
            yield "    rates += [rate, rate]" if self.deep else "    rates = lr, rate, rate, rate, rate"
        parameters = "[torch.tensor(p, dtype=dtype, requires_grad=True) for p in parameters]"
        yield f"    return {parameters}{self.and_rates}"

    def train(self) -> Lines:
        """The training loop."""
        each = {"p": "parameters", "lr": "rates"} if self.power else {"p": "parameters"}
        memory = {"momentum": {"m": "velocity"}, "adam": {"m": "first", "v": "second"}}.get(self.setting.optimizer, {})
        each |= memory
        counted = "step, chosen in enumerate(batches, 1)" if "v" in memory else "chosen in batches"
        yield "def train(transformed=False, disturbed=False):"
        yield '    """The normalized summed inputs in the first step, and the losses of all steps."""'
        yield f"    parameters{self.and_rates} = start({self.arguments})"
        for name in memory.values():
            yield f"    {name} = [torch.zeros_like(p) for p in parameters]"
        yield "    losses = []"
        yield f"    for {counted}:"
        yield "        x = images[chosen]"
        if self.change.on == "data":
            yield "        if transformed:"
            scaled = "x[0] *= delta  # one case of every mini-batch" if self.change.factor else "x = delta * x"
            yield f"            {'x = x + gamma' if self.change.factor is None else scaled}"
        yield "        xhat, logits = network(x, *parameters)"
        yield "        loss = torch.nn.functional.cross_entropy(logits, labels[chosen])"
        yield "        if not losses:"
        yield "            first_xhat = xhat.detach()"
        yield "        losses.append(loss.detach())"
        yield "        gradients = torch.autograd.grad(loss, parameters)"
        yield "        with torch.no_grad():"
        yield f"            for {', '.join(each)}, g in zip({', '.join(each.values())}, gradients):"
        update = _UPDATES[self.setting.optimizer].format(lr="lr" if self.power else "rate", noise=NOISE)
        yield from _indented(update.splitlines(), 4)
        yield "    return first_xhat, torch.stack(losses)"

    def verdict(self) -> Lines:
        """Trains, and judges as the table does."""
        forward, training = INVARIANT[self.setting.dtype], INVARIANT[self.setting.storage]
        hollow = degenerate(self.scheme, self.setting.shapes[0])
        yield "xhat, losses = train()"
        yield "twin_xhat, twin_losses = train(transformed=True)"
        yield "_, control_losses = train(disturbed=True)"
        yield "forward, training = gap(xhat, twin_xhat), gap(losses, twin_losses)"
        yield f"noise = {MARGIN} * gap(losses, control_losses)  # twins round at every step, the control once"
        yield f"if training <= {training:g} or training <= noise <= {CHAOTIC:g}:"
        yield '    trained = "together"'
        yield f"elif training <= noise or losses.max() > {DIVERGED:g} * max(losses[0], 1):"
        yield '    trained = "no answer"  # rounding alone does as much, or training diverged'
        yield 'else:\n    trained = "apart"'
        yield f"equal = forward <= {forward:g}"
        yield """print(f"forward gap   {forward:.1e}   {'together' if equal else 'apart'}")"""
        yield 'print(f"training gap  {training:.1e}   {trained}")'
        if hollow is None:
            yield 'answer = "is" if equal and trained != "apart" else "is not"'
        else:
            yield f'# {hollow}\nanswer = "is degenerate here, and cannot be called"'
        yield f'question = "invariant to {self.change.name}"'
        yield f'setting = "({self.conditions})"'
        yield f'print("{self.scheme.name}", answer, question, setting)'

    def _normalized(self, function: str, x: str) -> str:
        """Code that normalizes x, in half precision where the setting says so."""
        return f"rounded({function}, {x}{', kind' * self.deep})" if self.short else f"{function}({x})"

    def _weights(self) -> Lines:
        """A layer's first weights, and their learning rate where it follows them."""
        change, units = self.change, "(width,)" if self.dense else "(width, 1, 1, 1)"
        yield "scale = np.prod(shape[:-1]) ** -0.5"
        yield "w = scale * rng.standard_normal(shape)"
        if self.power:
            yield f"lr = torch.full({units}, rate, dtype=dtype)" if change.weight_factor else "lr = rate"
        if change.weight_shift is not None:
            yield f"gamma = {SHIFT} * scale * rng.standard_normal((*shape[:-1], 1))  # the same for each unit"
        if change.on == "weights":
            yield "if transformed:"
            if change.weight_shift is not None:
                yield "    w = w + gamma"
            elif change.weight_factor:
                yield f"    unit = w.sum({0 if self.dense else (0, 1, 2)}).argmax()  # one that is sure to fire"
                yield "    w[..., unit] *= delta"
            else:
                yield "    w = delta * w"
            if self.power:
                factor = "delta" if self.power == 1 else f"delta**{self.power}"
                yield f"    lr{'[unit]' * bool(change.weight_factor)} *= {factor}  # {_WHY[self.power]}"
            elif change.weight_factor is not None:
                yield "    # Its learning rate stays, though its gradient is 1/δ of the original's."
        rounding = "2**-7" if self.setting.dtype == "bfloat16" else f"torch.finfo(torch.{self.setting.dtype}).eps"
        yield "if disturbed:"
        if self.short and change.weight_shift is None:  # with so much rounding, verdicts hang on which it is
            yield "    rng.standard_normal(shape[:-1])  # goes by, as the app draws γ first"
        yield f"    w = w * (1 + {rounding} * rng.standard_normal(shape))"
        if not self.dense:
            yield "w = w.transpose(3, 2, 0, 1)  # Cout, Cin, kh, kw"


class _Average(NamedTuple):
    """E over the boxes of a field: over what, in words; code for the average of {}; the function that this calls."""

    words: str
    code: str
    function: list[str]


class _Normalizer:
    """Writes the function that computes the general form on the weights or the activations."""

    def __init__(self, scheme: Scheme, setting: Setting) -> None:
        dense, weights = setting.layer == "dense", scheme.acts_on == "weight"
        self.scheme, self.dense, self.eps = scheme, dense, _takes_eps(scheme) and setting.eps > 0
        self.x, self.suffix = ("w", "_weights") if weights else ("a", "")
        if weights:
            self.axes = ("Cin", "Cout") if dense else ("Cout", "Cin", "kh", "kw")
        else:
            self.axes = ("N", "C") if dense else ("N", "C", "H", "W")
        shapes = setting.weight_shapes if weights else setting.shapes
        self.sizes = dict(zip(scheme.axes, zip(*shapes, strict=True), strict=True))

    def functions(self) -> Iterator[Iterable[str]]:
        """`normalize` or `normalize_weights`, after those that it calls."""
        if self.scheme.spectral:
            matrix = self.x if self.dense else f"{self.x}.flatten(1)"
            quotient = f"return {self.x} / torch.linalg.matrix_norm({matrix}, 2)"
            yield self._function("W over its largest singular value, as a matrix", [quotient])
            return
        fields = list(dict.fromkeys(self.scheme.fields))
        names = ["average"] if len(fields) == 1 else ["centre_average", "square_average"]
        averages = {f: self._average(f, f"{name}{self.suffix}") for f, name in zip(fields, names, strict=True)}
        yield from (average.function for average in averages.values() if average.function)
        centre, square = (averages.get(field) for field in (self.scheme.summation, self.scheme.suppression))
        words = [f"{what} over {e.words}" for what, e in (("Mean", centre), ("Mean square", square)) if e is not None]
        if centre is not None and centre == square:
            words = [f"Mean and mean square over {centre.words}"]
        yield self._function("; ".join(words), self._general_form(centre, square))

    def _function(self, what: str, lines: Iterable[str]) -> Lines:
        yield f"def normalize{self.suffix}({self.x}):"
        yield from _indented(wrap(f'"""{what}; {self.x} is ({", ".join(self.axes)})."""', LINE - 4))
        yield from _indented(lines)

    def _general_form(self, centre: _Average | None, square: _Average | None) -> Lines:
        """v = x - E_A x over sqrt(ε + E_B v²), as far as there is an A and a B."""
        v = self.x if centre is None else "v"
        if centre is not None:
            yield f"v = {self.x} - {centre.code.format(self.x)}"
        if square is not None:
            fan_in = ("len(w) * " if self.dense else "w[0].numel() * ") if self.scheme.per_fan_in else ""
            yield f"square = {fan_in}{square.code.format(f'{v}.square()')}"
            if not self.eps and self.scheme.acts_on != "weight":
                yield "square = square.where(square > 0, torch.inf)  # 0/0 is 0"
            v += f" / torch.sqrt(square{' + eps' if self.eps else ''})"
        yield f"return {v}"

    def _average(self, field: Field, name: str) -> _Average:
        """A mean over whole axes, then groups and windows axis by axis."""
        rules = dict(zip(self.scheme.axes, field.rules, strict=True))
        rules = [_plain(rules[axis], self.sizes[axis]) for axis in self.axes]
        full = tuple(dim for dim, rule in enumerate(rules) if rule == FULL)
        words = [", ".join(self.axes[dim] for dim in full)] if full else []
        mean = f"{{}}.mean({full[0] if len(full) == 1 else full}, keepdim=True)" if full else "{}"
        letters = "".join(AXIS[axis].letter for axis in self.axes)
        lines = [f"t = {mean.format('t')}"] if full else []
        for dim, (axis, rule) in enumerate(zip(self.axes, rules, strict=True)):
            if rule.kind == "groups":
                words.append(f"each of {rule.parameter} groups of {axis}")
                lines.append(f"cut = t.unflatten({dim}, ({rule.parameter}, -1))")
                lines.append(f"t = cut.mean({dim + 1}, keepdim=True).expand_as(cut).flatten({dim}, {dim + 1})")
            elif rule.kind == "window":
                words.append(f"±{rule.parameter} along {axis}")
                pattern = f"k{letters[dim]},{letters}->{letters.replace(letters[dim], 'k')}"
                lines.append(f't = torch.einsum("{pattern}", window(t.shape[{dim}], {rule.parameter}), t)')
        over = ", ".join(words) or "single elements"
        if all(rule.parameter is None for rule in rules):
            return _Average(over, mean, [])
        lines[-1] = lines[-1].replace("t =", "return", 1)
        return _Average(over, name + "({})", [f"def {name}(t):", *_indented([f'"""The mean over {over}."""', *lines])])


def _plain(rule: Rule, sizes: tuple[int, ...]) -> Rule:
    """Groups and windows as own or full, where that is the same in every layer."""
    same = {rule.canonical(n) for n in sizes}
    return same.pop() if rule.parameter is not None and len(same) == 1 else rule


def _takes_eps(scheme: Scheme) -> bool:
    """Whether the setting's ε enters: schemes on the weights have none."""
    return scheme.acts_on != "weight" and scheme.suppression is not None


def _indented(lines: Iterable[str], levels: int = 1) -> Lines:
    return (indent(line, levels * "    ") for line in lines)


_WHY = {
    1: "Adam's steps stay as long, but W' has δ times as far to go",
    2: "1/δ of the gradient has to move W' δ times as far",
}
"""Why the learning rate is multiplied by that power of δ."""

_WINDOW = '''\
def window(n, radius):
    """The (n, n) matrix that averages over |i - j| <= radius, cut at the border."""
    i = torch.arange(n)
    near = (abs(i[:, None] - i) <= radius).to(dtype)
    return near / near.sum(1, keepdim=True)'''.splitlines()

_ROUNDED = '''\
def rounded(normalizer, t, kind=torch.{}):
    """What a normalizer makes of t, where what goes in and out is rounded to another type."""
    return normalizer(t.to(kind).to(dtype)).to(kind).to(dtype)'''.splitlines()

_GAP = '''\
def gap(a, b):
    """max|b - a| / max|a|; infinite where a number is not finite."""
    value = (abs(b - a).max() / (abs(a).max() or 1.0)).item()
    return value if np.isfinite(value) else np.inf'''.splitlines()

_UPDATES = {
    "sgd": "p -= {lr} * g",
    "momentum": "m.mul_(momentum).add_(g)\np -= {lr} * m",
    "adam": """\
# Adam would move a weight by its gradient's rounding as far as by any gradient.
g = g.where(abs(g) > {noise} * torch.finfo(dtype).eps * abs(g).max(), 0)
m += (1 - beta1) * (g - m)
v += (1 - beta2) * (g**2 - v)
root = torch.sqrt(v / (1 - beta2**step)) + torch.finfo(dtype).tiny  # 0/0 is 0
p -= {lr} * m / (1 - beta1**step) / root""",
}
"""What an optimizer does to a parameter p with gradient g; {lr} is its learning rate."""
