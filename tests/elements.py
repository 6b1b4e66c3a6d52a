"""Elements of normalized tensors, what a browser is sent of them, and what Python says of them."""

import random
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import written

from normviz.core.fields import Field, Index
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.registry import SCHEMES, Scheme, get_scheme
from normviz.data.samples import SAMPLES
from normviz.describe import live, wording
from normviz.describe.mathml import convert_to_mathml
from normviz.topics.lab.element_data import build_element_data, shorten_floats
from normviz.topics.lab.lab_cube import AXIS_ROLES

SHAPES = [(4, 4, 4, 6), (1, 1, 1, 1), (2, 3, 2, 1), (3, 8, 1, 4), (5, 1, 1, 12)]
SPOILT = (np.nan, np.inf, -np.inf, 1e300, -1e-300, 0.0)


class Case(NamedTuple):
    """A tensor and some elements of it.

    Attributes:
        data: what the component `element` is sent of the tensor.
        indices: of the elements.
        fields: for each element, its fields in words.
        formulas: for each element, the texts of its statistics and lines, without spaces.
    """

    data: dict[str, Any]
    indices: list[Index]
    fields: list[list[str]]
    formulas: list[list[str]]


def make_cases(count: int) -> Iterator[Case]:
    """Yield tensors of all schemes; some have fields made up, some an element that is not finite."""
    rng = random.Random(5)
    for number in range(count):
        shape = SHAPES[(number + number // len(SCHEMES)) % len(SHAPES)]
        scheme = get_scheme(list(SCHEMES)[number % len(SCHEMES)], groups=1 if shape[3] % 2 else 2)
        if number % 3 == 0:
            rules = ["own", "full", "window(1)", "window(2)", "groups(1)"]
            a, b = (Field.parse(",".join(rng.choices(rules, k=4))) for _ in "ab")
            scheme = SCHEMES["custom"].with_fields(a, rng.choice([a, b, None]))
        x = SAMPLES["uneven"].make(shape, number) * rng.choice([1.0, 1e-7, 1e6])
        if number % 4 == 1:
            x.flat[rng.randrange(x.size)] = rng.choice(SPOILT)
        scheme.check(shape)
        yield make_case(scheme, x, [tuple(map(rng.randrange, shape)) for _ in range(6)])


def make_case(scheme: Scheme, x: np.ndarray, indices: list[Index]) -> Case:
    """Return what is sent of a tensor, and what Python says of these elements of it."""
    eps = 1e-3 if scheme.eps is not None and scheme.suppression is not None else 0.0
    gain, bias = (1.5 if scheme.gain is not None else 1.0), (-0.25 if scheme.bias is not None else 0.0)
    result = normalize(x, scheme, eps, gain, bias)
    roles = AXIS_ROLES[scheme.tensor]
    data = build_element_data(
        {"focus": (0, 0, 0, 0)},
        wording.SchemeOnShape(scheme, x.shape),
        x,
        result,
        LayerScalars(eps, gain, bias),
        roles,
        "light",
    )
    numbers = live.compute_live_numbers(scheme, x, result, LayerScalars(eps, gain, bias))
    lines = [*live.build_statistic_formulas(scheme), *live.build_step_formulas(scheme, x.shape)]

    def write_formulas(index: Index) -> list[str]:
        form = int(written.look_up(numbers["form"], index, x.shape)) if "form" in numbers else 0
        own = {
            name: written.look_up(each._replace(values=shorten_floats(each.values)), index, x.shape)
            for name, each in numbers.items()
        }
        own |= dict(zip("nhwc", index, strict=True))
        said = [written.said(convert_to_mathml(line.forms[form % len(line.forms)]), own.__getitem__) for line in lines]
        return ["".join(each.split()) for each in said]

    taken = wording.SchemeOnShape(scheme, x.shape).statistics

    def write_fields(index: Index) -> list[str]:
        boxes = wording.SchemeOnShape(scheme, x.shape).describe_boxes(index)
        return [
            wording.describe_field_box(part.field, index, x.shape, scheme.axes, box.shared)
            for part, box in zip(taken, boxes, strict=True)
        ]

    fields = [write_fields(index) for index in indices]
    return Case(data, indices, fields, [write_formulas(index) for index in indices])
