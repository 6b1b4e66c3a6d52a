"""Misread arrays of homework: channels at the other end, miscounted or interleaved groups, other axes."""

from collections.abc import Iterator
from dataclasses import replace
from itertools import product
from typing import NamedTuple

import numpy as np

from normviz.core.fields import FULL, OWN, Field, Rule, Shape
from normviz.core.layouts import LAYOUTS, parse_layout
from normviz.core.registry import Scheme
from normviz.topics.gradients.homework import FormulaVariant, HomeworkInputs, MistakeKeys


def generate_wrong_fields(
    formula: FormulaVariant, shape: Shape, layout: str
) -> Iterator[tuple[MistakeKeys, FormulaVariant]]:
    """Yield (mistake keys, formula) that average wrong elements: misread layouts, miscounted groups, other axes."""
    seen = {_make_canonical(formula, shape)}

    def new(formula: FormulaVariant) -> bool:
        known = _make_canonical(formula, shape)
        if known in seen:
            return False
        seen.add(known)
        return True

    for key, wrong in (
        *_generate_misread_layouts(formula, layout),
        *_generate_miscounted_groups(formula, shape),
        *_generate_other_axes(formula, shape),
    ):
        if all(has_fitting_groups(field, shape) for field in (wrong.summation, wrong.suppression)) and new(wrong):
            yield (key,), wrong


def _make_canonical(formula: FormulaVariant, shape: Shape) -> tuple[Field | None, ...]:
    return tuple(None if f is None else f.simplify(shape) for f in (formula.summation, formula.suppression))


def has_fitting_groups(field: Field | None, shape: Shape) -> bool:
    """Return True if a field's numbers of groups divide the lengths of their axes, or the field is None."""
    rules = () if field is None else zip(field.rules, shape, strict=True)
    return all(rule.kind != "groups" or n % rule.parameter_or_zero == 0 for rule, n in rules)


def _replace_fields(formula: FormulaVariant, change: "dict[int, Rule] | Field") -> FormulaVariant:
    """Return the formula with other averaged elements: `change` is a field for mean and divisor, or rules by axis."""

    def changed(field: Field | None) -> Field | None:
        if field is None:
            return None
        if isinstance(change, Field):
            return change
        return Field(tuple(change.get(axis, rule) for axis, rule in enumerate(field.rules)))

    return replace(formula, summation=changed(formula.summation), suppression=changed(formula.suppression))


def _generate_misread_layouts(formula: FormulaVariant, layout: str) -> Iterator[tuple[str, FormulaVariant]]:
    """Yield (mistake key, formula) for an array that is read as if its channels were at the other end."""
    read = {"NCHW": (0, 1, 2, 3), "NHWC": (0, 3, 1, 2), "BTC": (0, 3, 1)}.get(layout)
    if read is None:
        return
    there = dict(zip(LAYOUTS[layout], read, strict=True))

    def permuted(field: Field | None) -> Field | None:
        return None if field is None else Field(tuple(field.rules[there.get(axis, axis)] for axis in range(4)))

    key = "channels-last" if layout == "NCHW" else "channels-first"
    yield key, replace(formula, summation=permuted(formula.summation), suppression=permuted(formula.suppression))


def _generate_miscounted_groups(formula: FormulaVariant, shape: Shape) -> Iterator[tuple[str, FormulaVariant]]:
    field = formula.suppression or formula.summation
    groups = {axis: rule for axis, rule in enumerate(field.rules if field else ()) if rule.kind == "groups"}
    for axis, rule in groups.items():
        if shape[axis] % rule.parameter_or_zero == 0:
            yield "group-size", _replace_fields(formula, {axis: Rule("groups", shape[axis] // rule.parameter_or_zero)})


def _generate_other_axes(formula: FormulaVariant, shape: Shape) -> Iterator[tuple[str, FormulaVariant]]:
    """Yield ("wrong-axis", formula) for every choice of averaged axes."""
    long = [axis for axis, n in enumerate(shape) if n > 1]
    for chosen in product((True, False), repeat=len(long)):
        over = {axis for axis, full in zip(long, chosen, strict=True) if full}
        if over:
            yield (
                "wrong-axis",
                _replace_fields(formula, Field(tuple(FULL if axis in over else OWN for axis in range(4)))),
            )


class MisreadView(NamedTuple):
    """A homework task with its elements in the order of a wrong reshape or layout.

    Attributes:
        key: the mistake.
        task: x and dout in that order, and gamma and beta if their axes stay.
        order: the index, in the flat tensor of the task, of every element of the view.
        task_shape: the shape of the task's tensor.
        channels: the order of the channels if only they are reordered.
    """

    key: str
    task: HomeworkInputs
    order: np.ndarray
    task_shape: Shape
    channels: np.ndarray | None = None

    def restore_order(self, tensor: np.ndarray) -> np.ndarray:
        """Return a result of the reordered task, a tensor or parameter, in the order of the original task."""
        if tensor.shape != self.order.shape:
            return tensor if self.channels is None else tensor[..., np.argsort(self.channels)]
        flat = np.empty(tensor.size)
        flat[self.order.ravel()] = tensor.ravel()
        return flat.reshape(self.task_shape)


def generate_misread_views(task: HomeworkInputs, scheme: Scheme, layout: str) -> Iterator[MisreadView]:
    """Yield the task as misread: reshaped to channels last, in another layout, and with interleaved groups."""
    index = np.arange(task.x.size).reshape(task.x.shape)

    def seen(
        key: str, order: np.ndarray, gamma: np.ndarray, beta: np.ndarray, channels: np.ndarray | None = None
    ) -> MisreadView:
        dout = None if task.dout is None else task.dout.ravel()[order]
        return MisreadView(key, HomeworkInputs(task.x.ravel()[order], gamma, beta, dout), order, task.x.shape, channels)

    per_channel = all(p.shape[:3] == (1, 1, 1) for p in (task.gamma, task.beta))
    n, h, w, c = task.x.shape
    if layout == "NCHW" and per_channel:
        array = parse_layout(layout).from_tensor(index)
        yield seen("channels-last", array.reshape(n, h, w, c), task.gamma, task.beta)
        if w == c:
            yield seen("channels-last", array, task.gamma, task.beta)
    if layout == "NHWC" and per_channel and h == c:
        yield seen("channels-first", np.moveaxis(index, 1, -1), task.gamma, task.beta)
    if layout == "BTC" and per_channel and h == c:
        yield seen("channels-first", np.swapaxes(index, 1, 3), task.gamma, task.beta)
    groups = scheme.parameters.get("groups")
    if groups and scheme.field is not None and scheme.field.rules[3].kind == "groups" and c % groups == 0:
        order = np.arange(c).reshape(c // groups, groups).T.ravel()
        gamma, beta = (np.broadcast_to(p, (*p.shape[:3], c))[..., order] for p in (task.gamma, task.beta))
        yield seen("interleaved-groups", index[..., order], gamma, beta, order)
