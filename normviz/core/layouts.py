"""Layouts of arrays, written with one letter or one word per axis, and conversion to and from tensors (N, H, W, C)."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain, repeat
from math import prod

from array_api_compat import array_namespace

from normviz.core.arrays import Array
from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, Field, Rule
from normviz.core.text import join_words

EXAMPLES = "NC, NCHW, NHWC, BTC, BCT, NCDHW"
"""Layouts that error messages name."""

BATCH_NAMES = frozenset({"n", "b", "batch"})
CHANNEL_NAMES = ("c", "channel", "channels", "features", "d", "e", "f")
"""Names of the channel axis, the surest first: D is the depth of NCDHW, and the features of BTD."""

WEIGHT_AXES = {"h": 0, "kh": 0, "w": 1, "kw": 1, "i": 2, "cin": 2, "o": 3, "cout": 3}
"""The axis of weights (kh, kw, Cin, Cout) for each name."""


@dataclass(frozen=True)
class ArrayLayout:
    """The order of an array's axes, and the axis of (N, H, W, C) or (kh, kw, Cin, Cout) that each of them belongs to.

    Attributes:
        text: the layout as it was written.
        names: the names of the axes, in the array's order.
        axes: for each of them 0 to 3. Axes of positions beyond the second share 2: they are merged into W.
    """

    text: str
    names: tuple[str, ...]
    axes: tuple[int, ...]

    @property
    def order(self) -> tuple[int, ...]:
        """The positions in the array of its axes, in the order of the four axes."""
        return tuple(sorted(range(len(self.axes)), key=lambda position: self.axes[position]))

    def to_tensor(self, array: Array) -> Array:
        """Return the array with four axes (N, H, W, C); axes that the layout lacks have length 1.

        Raises InvalidInput if the array has another number of axes.
        """
        if array.ndim != len(self.axes):
            shape = " × ".join(map(str, array.shape)) or "a number"
            raise InvalidInput(
                f"layout {self.text!r} has {len(self.axes)} axes, the array {array.ndim} ({shape}); "
                "give one letter per axis."
            )
        xp = array_namespace(array)
        lengths = [prod(n for n, axis in zip(array.shape, self.axes, strict=True) if axis == k) for k in range(4)]
        return xp.reshape(xp.permute_dims(array, self.order), tuple(lengths))

    def from_tensor(self, tensor: Array, shape: tuple[int, ...] = ()) -> Array:
        """Return a tensor (N, H, W, C), or statistics with fewer elements, with the axes of this layout.

        Averaged axes have length 1, so that a statistic broadcasts against the array where no rule cuts an axis into
        groups. `shape` is the shape of the array; only a layout that merges axes needs it.
        """
        xp = array_namespace(tensor)
        lengths: list[int] = []
        for position in self.order:
            merged = [each for each in self.order if self.axes[each] == self.axes[position]]
            n = tensor.shape[self.axes[position]]
            is_split = len(merged) > 1 and n == prod(shape[each] for each in merged)
            lengths.append(shape[position] if is_split else n if len(merged) == 1 else 1)
        ordered = xp.reshape(tensor, tuple(lengths))
        return xp.permute_dims(ordered, tuple(self.order.index(position) for position in range(len(self.axes))))

    def expand_parameter(self, parameter: Array, ndim: int) -> Array:
        """Return γ or β in a shape that broadcasts against the tensor (N, H, W, C).

        One axis means one number per channel, wherever the layout has its channels. More axes are those of the array,
        counted from its end. Raises InvalidInput for more axes than the array has.
        """
        axes = parameter.ndim
        if axes <= 1:
            return parameter
        if axes > ndim:
            raise InvalidInput(f"the gain or bias has {axes} axes, x {ndim}; use one number per channel, or x's axes.")
        xp = array_namespace(parameter)
        return self.to_tensor(xp.reshape(parameter, (1,) * (ndim - axes) + tuple(parameter.shape)))


@lru_cache(maxsize=256)
def parse_layout(text: str, tensor: str = "activation") -> ArrayLayout:
    """Return the `ArrayLayout` of a text such as "NCHW" or "b t c"; `tensor`: "activation" or "weight".

    N and B are examples, C is channels (or features: D, E or F where there is no C), and all other axes are positions.
    Weights have the letters O, I, H and W: units, input channels, and the kernel's rows and columns.

    >>> parse_layout("NCHW").axes, parse_layout("b t d").axes, parse_layout("NCDHW").axes
    ((0, 3, 1, 2), (0, 1, 3), (0, 3, 1, 2, 2))

    Raises:
        InvalidInput: not a string, an axis that is there twice, no axis of channels, or two of examples.
    """
    if not isinstance(text, str) or not re.fullmatch(r"\s*[A-Za-z]\w*(\s+\w+)*\s*", text):
        if isinstance(text, str) and "(" in text:
            raise InvalidInput(f"layout {text!r} has a composed axis; write 'btc' and choose groups, or reshape first.")
        raise InvalidInput(f"{text!r} is not a layout; {EXAMPLES}, or names such as 'b t c', are.")
    names = tuple(text.split()) if len(text.split()) > 1 else tuple(text.strip())
    lower = [name.lower() for name in names]
    twice = [name for name in names if lower.count(name.lower()) > 1]
    if twice:
        raise InvalidInput(f"layout {text!r} names the axis {twice[0]} twice; each axis needs a name of its own.")
    return ArrayLayout(text, names, _place_weights(text, lower) if tensor == "weight" else _place_axes(text, lower))


def _place_axes(text: str, names: list[str]) -> tuple[int, ...]:
    examples = [name for name in names if name in BATCH_NAMES]
    if len(examples) > 1:
        raise InvalidInput(f"layout {text!r} has two axes of examples, {join_words(examples)}; one can be N or B.")
    channel = next((name for name in CHANNEL_NAMES if name in names), None)
    if channel is None:
        raise InvalidInput(f"layout {text!r} has no axis of channels; call one of them C, as in {EXAMPLES}.")
    fixed = {channel: 3} | dict.fromkeys(examples, 0)
    if len(names) - len(fixed) <= 2:  # H and W stay rows and columns, in any order
        fixed = {"h": 1, "w": 2} | fixed
    taken = {fixed[name] for name in names if name in fixed}
    free = chain((axis for axis in (1, 2) if axis not in taken), repeat(2))
    return tuple(fixed[name] if name in fixed else next(free) for name in names)


def merge_rules(rules: Sequence[Rule] | None, layout: ArrayLayout) -> Field | None:
    """Return the field over (N, H, W, C) that averages like `rules`, one per axis of an array; None if no field does.

    None for no rules, or if axes that merge into one have different rules.
    """
    if rules is None:
        return None
    merged: list[Rule] = []
    for k in range(4):
        some = {rule for rule, axis in zip(rules, layout.axes, strict=True) if axis == k}
        if len(some) > 1:
            return None
        merged.append(some.pop() if some else FULL)
    return Field(tuple(merged))


def _place_weights(text: str, names: list[str]) -> tuple[int, ...]:
    unknown = [name for name in names if name not in WEIGHT_AXES]
    if unknown:
        raise InvalidInput(
            f"layout {text!r} of weights has the axis {unknown[0]}; weights have O, I, H and W, as in 'OIHW' and 'OI'."
        )
    return tuple(WEIGHT_AXES[name] for name in names)


LAYOUTS = {name: parse_layout(name).axes for name in ("NC", "NHWC", "NCHW", "BTC")}
"""The layouts of homework: the axis of a tensor (N, H, W, C) for each axis of an array; T lies along H."""

ALL_LAYOUTS = LAYOUTS | {"BCT": parse_layout("BCT").axes}
"""`LAYOUTS`, and the layout of PyTorch's BatchNorm1d and InstanceNorm1d."""


def check_layout(layout: str) -> None:
    """Raise InvalidInput for a layout that is not among `LAYOUTS`."""
    if layout not in LAYOUTS:
        raise InvalidInput(f"{layout!r} is not a layout; {', '.join(LAYOUTS)} are.")
