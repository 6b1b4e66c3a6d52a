"""Normalizations written between other operations of a forward pass: the operations of a pass, and their replay.

A candidate is a product or a quotient of a tensor and statistics, which come from a mean, a sum or the like. It is
replayed as a function of the tensor that all of it comes from.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from normviz.inspection.model_copy import list_tensors, map_tensors

REDUCTIONS = {
    "mean", "sum", "var", "std", "var_mean", "std_mean", "norm", "linalg_vector_norm", "linalg_norm", "amax",
}  # fmt: skip
"""Operations that make a statistic, where their output is smaller than their input."""

ROOTS = {"sqrt", "rsqrt", "std", "std_mean", "norm", "linalg_vector_norm", "linalg_norm"}
"""Operations whose statistics are likely to normalize."""

PRODUCTS = {"mul", "multiply", "div", "divide", "true_divide", "__rdiv__"}
SUMS = {"add", "sub", "subtract", "__rsub__"}
CASTS = {"to", "float", "double", "half", "bfloat16", "type_as", "contiguous"}
SHAPES = {"unsqueeze", "squeeze", "view", "reshape", "expand", "expand_as", "view_as", "__getitem__", "unflatten"}

SIMPLE = {
    *REDUCTIONS, *ROOTS, *PRODUCTS, *SUMS, *CASTS, *SHAPES,
    "pow", "square", "neg", "abs", "reciprocal", "clamp", "clamp_min", "maximum",
}  # fmt: skip
"""Operations that may be a part of a normalization."""

LIKE_SECOND = {"expand_as", "view_as", "type_as"}
"""Operations of whose second tensor only the shape or the type counts."""

MAX_OPERATIONS = 60
"""Most operations of one normalization."""


@dataclass(frozen=True)
class Operation:
    """One tensor operation of a forward pass, with its arguments and output.

    `place` and `around` are the name of the module whose forward pass calls it, and the module. `weight_calls` is the
    number of calls that made channels before it.
    """

    name: str
    function: Callable[..., Any]
    args: tuple[Any, ...]
    named: dict[str, Any]
    output: Any
    place: str
    around: nn.Module | None
    weight_calls: int

    @property
    def inputs(self) -> list[Tensor]:
        """The tensors that the operation reads."""
        tensors = list_tensors([self.args, self.named])
        return tensors[:1] if self.name in LIKE_SECOND else tensors


@dataclass(frozen=True)
class InlineCandidate:
    """Operations between a tensor x and an output y of the same shape that may normalize x.

    Attributes:
        x, y: the tensor and the output; x is None if the operations do not come from one tensor.
        operations: the operations in their order.
        has_root: True if a statistic is a root.
        product, position: the operation with the statistic, and its number.
    """

    x: Tensor | None
    y: Tensor
    operations: tuple[Operation, ...]
    has_root: bool
    product: Operation
    position: int

    def list_parameters(self) -> list[Tensor]:
        """Return the parameters among the inputs of the operations, each once."""
        found = {id(each): each for step in self.operations for each in step.inputs if isinstance(each, nn.Parameter)}
        return list(found.values())

    def replay(self, x: Tensor, dtype: torch.dtype) -> Tensor:
        """Return y for another x, with all floating-point tensors converted to `dtype`."""
        assert self.x is not None
        values: dict[int, Tensor] = {id(self.x): x.to(dtype)}

        def replace(tensor: Tensor) -> Tensor:
            if id(tensor) in values:
                return values[id(tensor)]
            return tensor.detach().to(dtype) if tensor.is_floating_point() else tensor

        for step in self.operations:
            args, named = map_tensors(replace, (step.args, step.named))
            result = step.function(*args, **named)
            values |= {id(a): b for a, b in zip(list_tensors(step.output), list_tensors(result), strict=True)}
        return values[id(self.y)]


class OperationLog:
    """Log of the operations of a forward pass that may be part of a normalization, with the origin of each tensor.

    Attributes:
        operations: the operations in their order.
        overwritten: places where statistics change a tensor in place.
    """

    def __init__(self, constants: Iterable[Tensor]) -> None:
        """Make an empty log; `constants` are the model's buffers."""
        self._constants = {id(each) for each in constants}
        self.operations: list[Operation] = []
        self.overwritten: list[str] = []
        self._makers: dict[int, int] = {}
        self._statistics: set[int] = set()
        self._roots: set[int] = set()

    def record(self, operation: Operation) -> None:
        """Add an operation to the log if it is in `SIMPLE`; forget the origin of tensors that it overwrites."""
        inputs, outputs = operation.inputs, list_tensors(operation.output)
        changed = [each for each in outputs if any(each is other for other in inputs)]
        if changed:
            is_product = operation.name.rstrip("_") in PRODUCTS
            if is_product and any(id(each) in self._statistics & self._roots for each in inputs[1:]):
                self.overwritten.append(operation.place)
            for each in changed:
                self._makers.pop(id(each), None)
                self._statistics.discard(id(each))
            return
        if operation.name not in SIMPLE or not any(each.is_floating_point() for each in outputs):
            return
        self.operations.append(operation)
        data = [each for each in inputs if not self.is_constant(each)]
        largest = max((each.numel() for each in inputs), default=0)
        is_statistic = bool(data) and all(id(each) in self._statistics for each in data)
        is_statistic |= operation.name in REDUCTIONS and bool(data) and outputs[0].numel() < largest
        for each in outputs:
            self._makers[id(each)] = len(self.operations) - 1
            if is_statistic:
                self._statistics.add(id(each))
            if is_statistic and (operation.name in ROOTS or any(id(other) in self._roots for other in data)):
                self._roots.add(id(each))
            if operation.name == "pow" and not isinstance(operation.args[-1], int):
                self._roots.add(id(each))

    def is_constant(self, tensor: Tensor) -> bool:
        """Return True for parameters, buffers, integer tensors, and what operations make of these alone."""
        if isinstance(tensor, nn.Parameter) or id(tensor) in self._constants or not tensor.is_floating_point():
            return True
        maker = self._makers.get(id(tensor))
        return maker is not None and all(self.is_constant(each) for each in self.operations[maker].inputs)

    def list_candidates(self) -> list[InlineCandidate]:
        """Return the products and quotients with statistics that may normalize, in the order of the pass."""
        found = []
        for k, step in enumerate(self.operations):
            data = [each for each in step.inputs if not self.is_constant(each)]
            divisors = [each for each in data if id(each) in self._statistics]
            if step.name in PRODUCTS and divisors and len(divisors) < len(data):
                found.append(self._trace_candidate(k, any(id(each) in self._roots for each in divisors)))
        return found

    def _trace_candidate(self, index: int, has_root: bool) -> InlineCandidate:
        """Return the candidate that divides, by a root or not, in operation `index`: from its input to γ and β."""
        x = self._find_source(index)
        y, taken = self.operations[index].output, {index}
        for k in range(index + 1, min(index + MAX_OPERATIONS, len(self.operations))):
            step = self.operations[k]
            if any(each is y for each in step.inputs):
                others = [each for each in step.inputs if each is not y]
                if not (step.name in PRODUCTS | SUMS | CASTS and all(map(self.is_constant, others))):
                    break
                if step.output.shape != y.shape:
                    break
                y, taken = step.output, {*taken, k}
        operations = () if x is None else tuple(self.operations[k] for k in sorted(self._select_operations(taken, x)))
        return InlineCandidate(x, y, operations, has_root, self.operations[index], index)

    def _find_source(self, index: int) -> Tensor | None:
        """Return the nearest tensor before operation `index`, of its shape, through which all its data pass, or None.

        Through a subtracted mean and a cast, the search goes on.
        """
        shape, found, cut = self.operations[index].output.shape, None, self._list_data(index)
        for _ in range(MAX_OPERATIONS):
            makers = [self._makers[id(each)] for each in cut if id(each) in self._makers]
            if len(cut) == 1 and cut[0].shape == shape:
                found = cut[0]
                if not makers or not self._is_cast_or_centring(self.operations[makers[0]]):
                    return found
            if not makers:
                return found
            latest = max(makers)
            kept = [each for each in cut if self._makers.get(id(each)) != latest]
            cut = list({id(each): each for each in (*kept, *self._list_data(latest))}.values())
        return found

    def _is_cast_or_centring(self, step: Operation) -> bool:
        """Return True if an operation changes the type, or adds or subtracts a statistic."""
        is_centring = step.name in SUMS and any(id(each) in self._statistics for each in step.inputs)
        return is_centring or step.name in CASTS

    def _list_data(self, k: int) -> list[Tensor]:
        return [each for each in self.operations[k].inputs if not self.is_constant(each)]

    def _select_operations(self, last: set[int], x: Tensor) -> set[int]:
        """Return the indices of the operations on which the operations `last` depend, back to x."""
        found, waiting = set(), [*last]
        while waiting:
            k = waiting.pop()
            found.add(k)
            inputs = [each for each in self.operations[k].inputs if each is not x]
            waiting += [m for each in inputs if (m := self._makers.get(id(each))) is not None and m not in found]
        return found
