"""What hypothesis draws: shapes, rules that fit them, fields, ε and seeded arrays."""

from math import gcd

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from uneven import uneven_array as uneven_array

from normviz.core.fields import FULL, OWN, Field, Rule, find_divisors
from normviz.core.registry import SCHEMES

shapes = st.tuples(*[st.integers(1, 5)] * 4)
eps = st.just(0.0) | st.floats(1e-12, 1)
seeds = st.integers(0, 2**16)


def examples(thoroughly: int) -> settings:
    """That many examples in the thorough profile; in the usual one a fifth of them, but no fewer than 40."""
    thorough = settings.get_current_profile_name() == "thorough"
    return settings(max_examples=thoroughly if thorough else max(thoroughly // 5, 40))


def rules(n):
    """Rules that fit an axis of length n; windows reach from nothing to beyond the axis."""
    return st.one_of(
        st.sampled_from([OWN, FULL]),
        st.sampled_from(find_divisors(n)).map(lambda groups: Rule("groups", groups)),
        st.integers(0, n + 1).map(lambda radius: Rule("window", radius)),
    )


def fitting(key, shape, drawn):
    """One of the numbers of groups that the scheme's axes can be cut into, by a number that is drawn."""
    options = find_divisors(gcd(*SCHEMES[key].find_grouped_axes(shape).values()) or 1)
    return options[drawn % len(options)]


def fields(shape):
    """Fields that fit the shape."""
    return st.tuples(*map(rules, shape)).map(Field)


def shapes_with_fields(count):
    """A shape followed by that many fields that fit it."""
    return shapes.flatmap(lambda shape: st.tuples(st.just(shape), *[fields(shape)] * count))


def noise(seed: int, *shape: int) -> np.ndarray:
    """Standard normal numbers."""
    return np.random.default_rng(seed).standard_normal(shape)
