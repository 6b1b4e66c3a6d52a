from math import prod

import numpy as np
import pytest
import torch
from direct import general_form, relative_difference
from hypothesis import assume, example, given
from hypothesis import strategies as st
from strategies import eps as epsilons
from strategies import examples, fields, seeds, shapes, uneven_array
from torch_nn import by_eigh

from normviz.core import equality
from normviz.core.equality import compare_schemes, compute_behaviour_key, find_largest_difference, is_within_rounding
from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.same.identities import FULL_REACH_RADIUS, IDENTITIES, evaluate_sides, measure_residual

EVERY = pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
ROUNDING = 1e-12
SHAPES = [(3, 4, 5, 6), (1, 4, 4, 6), (1, 3, 2, 4), (3, 4, 4, 1), (1, 4, 4, 1), (4, 2, 1, 4), (2, 1, 3, 2)]
LONG = [(18, 1, 2, 3), (2, 18, 1, 3), (1, 3, 18, 2), (2, 1, 1, 18), (17, 2, 1, 2), (1, 1, 2, 17)]
CUSTOM = SCHEMES["custom"]


def custom(summation, suppression):
    """A scheme of these fields, as text; None: no such step."""
    return CUSTOM.with_fields(*(None if text is None else Field.parse(text) for text in (summation, suppression)))


# --- the identities -----------------------------------------------------------------------------------------------


@EVERY
@given(shape=shapes | st.sampled_from(LONG), eps=epsilons, seed=seeds)
def test_the_sides_are_equal_exactly_where_the_condition_says(identity, shape, eps, seed):
    # Several tensors: at ε = 0 two schemes may agree on a small one by chance, when both give nothing but signs.
    largest = max(measure_residual(identity, uneven_array(shape, seed + draw), eps) for draw in range(12))
    met = identity.condition.met(shape)
    if not met and identity.key == "layer-is-batch-at-one-case":
        met = shape[0] > 1  # with more cases nobody says that they are the same, and they are not
    assert largest < ROUNDING if met == identity.holds else largest > 1e-6


@EVERY
@given(shape=shapes | st.sampled_from(LONG))
def test_a_mended_shape_meets_the_condition_and_a_right_one_stays(identity, shape):
    mended = identity.condition.mend(shape)
    assert identity.condition.met(mended)
    assert (mended == shape) == identity.condition.met(shape)
    assert all(n >= 1 for n in mended)


def weight_by_torch(w):
    """Weight norm with g = 1 of a (kh, kw, Cin, Cout) kernel."""
    kh, kw, inputs, units = w.shape
    layer = torch.nn.Conv2d(inputs, units, (kh, kw), bias=False, dtype=w.dtype)
    layer = torch.nn.utils.parametrizations.weight_norm(layer, dim=0)
    (change,) = layer.parametrizations.weight
    return change(torch.ones(units, 1, 1, 1, dtype=w.dtype), w.permute(3, 2, 0, 1)).permute(2, 3, 1, 0)


def first(layer):
    """A channels-first layer on channels-last input."""
    return lambda x: layer(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1)


def by_torch(side, x, eps):
    """A side by torch.nn; by its definition, in loops, where torch has no such layer."""
    _, h, w, c = x.shape
    scheme, x = side.scheme(x.shape), torch.tensor(x)
    if side.words.startswith("of x without"):
        x = x - x.mean(-1, keepdim=True)
    layers = {
        "batch": lambda: first(torch.nn.BatchNorm2d(c, eps, affine=False, dtype=x.dtype)),
        "layer": lambda: first(torch.nn.LayerNorm((c, h, w), eps, dtype=x.dtype)),
        "layer-channels": lambda: torch.nn.LayerNorm(c, eps, dtype=x.dtype),
        "layer-spatial": lambda: first(torch.nn.InstanceNorm2d(c, eps)),
        "instance": lambda: first(torch.nn.InstanceNorm2d(c, eps)),
        "group": lambda: first(torch.nn.GroupNorm(scheme.parameters["groups"], c, eps, dtype=x.dtype)),
        "rms": lambda: torch.nn.RMSNorm(c, eps, dtype=x.dtype),
        "weight": lambda: weight_by_torch,
        "whitening": lambda: lambda z: by_eigh(z, scheme.count_covariances(z.shape), eps),
        "divisive": lambda: (
            lambda z: torch.tensor(general_form(z.numpy(), scheme.summation, scheme.suppression, eps)[1])
        ),
    }
    return layers[scheme.key]()(x).detach().numpy()


@EVERY
@pytest.mark.parametrize("eps", [1e-5, 0.3])
@pytest.mark.parametrize("shape", SHAPES)
def test_sides_and_residual_are_those_of_torch(identity, shape, eps):
    x = uneven_array(shape, seed=7)
    theirs = [by_torch(side, x, eps) for side in identity.sides]
    for ours, theirs_side in zip(evaluate_sides(identity, x, eps), theirs, strict=True):
        assert relative_difference(ours, theirs_side) < ROUNDING
    scale = max(np.max(np.abs(each)) for each in theirs)
    gap = np.max(np.abs(theirs[0] - theirs[1])) / (scale or 1)
    assert measure_residual(identity, x, eps) == pytest.approx(gap, abs=ROUNDING)


def test_what_the_issue_of_names_comes_to():
    x = uneven_array((1, 4, 4, 6), seed=0)
    assert measure_residual(IDENTITIES["one-case"], x) < ROUNDING
    assert measure_residual(IDENTITIES["over-positions-one-case"], x) < ROUNDING
    assert measure_residual(IDENTITIES["layer-is-batch-at-one-case"], x) > 0.1


def test_windows_reach_as_far_as_is_said():
    for key in ("windows-batch", "windows-layer"):
        (axes, longest) = IDENTITIES[key].condition.words.split(" ≤ ")
        assert int(longest) == FULL_REACH_RADIUS + 1
        field = IDENTITIES[key].left.scheme((1,) * 4).field
        assert axes.split(", ") == [
            axis for axis, rule in field.to_dict().items() if rule == f"window({FULL_REACH_RADIUS})"
        ]


def test_the_registry():
    assert all(key == identity.key for key, identity in IDENTITIES.items())
    holds = [identity.holds for identity in IDENTITIES.values()]
    assert holds == sorted(holds, reverse=True)
    sources = {source for identity in IDENTITIES.values() for source in identity.sources}
    assert {"G01", "G02", "I02", "I03", "L04", "L05", "R01", "D01", "W01"} <= sources


# --- the largest difference ---------------------------------------------------------------------------------------


@given(shape=shapes, seed=seeds)
def test_the_difference_is_the_largest_and_stands_where_it_is_said(shape, seed):
    left, right = uneven_array(shape, seed), uneven_array(shape, seed + 1)
    found = find_largest_difference(left, right)
    scale = max(np.abs(left).max(), np.abs(right).max())
    assert found.residual == pytest.approx(np.abs(left - right).max() / scale)
    assert (found.left, found.right) == (left[found.index], right[found.index])
    assert abs(found.left - found.right) == np.abs(left - right).max()


@pytest.mark.parametrize(
    ("left", "right", "gap"),
    [
        ([0.0, 0.0], [0.0, 0.0], 0.0),
        ([np.nan, 4.0], [np.nan, 3.0], 0.25),
        ([np.nan, 4.0], [1.0, 4.0], np.inf),
        ([np.inf, 4.0], [np.inf, 4.0], 0.0),
        ([np.inf, 4.0], [-np.inf, 4.0], np.inf),
        ([np.inf, 4.0], [1.0, 4.0], np.inf),
        ([2.0, -4.0], [2.0, 4.0], 2.0),
    ],
)
def test_differences_of_special_values(left, right, gap):
    assert find_largest_difference(np.array(left), np.array(right)).residual == gap


def test_rounding_depends_on_the_type():
    assert is_within_rounding(1e-5, np.float32)
    assert not is_within_rounding(1e-5, np.zeros(1).dtype)
    assert not is_within_rounding(np.inf)


# --- two schemes of one's own -------------------------------------------------------------------------------------


def steps(shape):
    return st.none() | fields(shape)


@given(shapes.flatmap(lambda s: st.tuples(st.just(s), *[steps(s)] * 4)), st.booleans(), epsilons, seeds)
@examples(300)
@example(((2, 3, 1, 1), Field((FULL, OWN, OWN, OWN)), Field((FULL, FULL, OWN, OWN)), None, None), True, 0.0, 0)
def test_the_verdict_by_fields_is_the_measured_one(drawn, alike, eps, seed):
    shape, a, b, other_a, other_b = drawn
    left, right = CUSTOM.with_fields(a, b), CUSTOM.with_fields(a if alike else other_a, other_b)
    found = compare_schemes(left, right, shape, eps, seed)
    assert found.equal == is_within_rounding(found.worst.residual)
    assert found.equal or not found.same_fields


@given(st.sampled_from([(2, 1, 1, 1), (2, 2, 1, 1), (1, 1, 1, 4), (2, 1, 1, 3)]), st.data(), epsilons, seeds)
@examples(200)
def test_the_verdict_on_small_shapes_where_fields_act_alike(shape, data, eps, seed):
    a, b, other_a, other_b = (data.draw(steps(shape)) for _ in range(4))
    found = compare_schemes(CUSTOM.with_fields(a, b), CUSTOM.with_fields(other_a, other_b), shape, eps, seed)
    assert found.equal == is_within_rounding(found.worst.residual)


@pytest.mark.parametrize("eps", [0.0, 1e-3])
@pytest.mark.parametrize("shape", [(2, 3, 1, 1), (2, 3, 4, 5), (4, 1, 1, 3)])
def test_a_pair_of_one_mean_may_share_what_divides_or_not(shape, eps):
    pairs = f"N=groups({shape[0] // 2})"
    left, right = custom(pairs, pairs), custom(pairs, "N=own")
    found = compare_schemes(left, right, shape, eps)
    assert found.equal
    assert not found.same_fields
    assert found.worst.residual < ROUNDING
    other = "H=full" if shape[1] > 1 else "C=full"
    assert not compare_schemes(left, custom(pairs, other), shape, eps).equal


def test_an_element_that_is_its_own_mean_leaves_nothing_to_divide():
    found = compare_schemes(custom("N=own", "N=full"), custom("C=window(0)", None), (3, 2, 2, 4))
    assert found.equal
    assert not found.same_fields
    assert not found.left.any()


@given(shape=shapes, eps=epsilons, seed=seeds)
def test_the_counter_example_is_what_the_schemes_make_of_it(shape, eps, seed):
    left, right = SCHEMES["layer"], SCHEMES["rms"]
    assume(prod(shape) > 1)
    found = compare_schemes(left, right, shape, eps, seed)
    for scheme, xhat in ((left, found.left), (right, found.right)):
        assert relative_difference(xhat, normalize(found.x, scheme, eps).xhat) < ROUNDING
    assert find_largest_difference(found.left, found.right) == found.worst
    assert not found.equal


def test_many_small_tensors_and_a_few_large_ones():
    layer, batch = SCHEMES["layer"], SCHEMES["batch"]
    assert compare_schemes(layer, batch, (2, 2, 2, 2)).draws == equality.MAX_DRAWS
    assert compare_schemes(layer, batch, (16, 16, 16, 16)).draws == 4
    assert compare_schemes(layer, get_scheme("divisive", radius=16), (4, 16, 32, 32)).draws == 3
    assert (
        compare_schemes(layer, batch, (2, 2, 2, 2), seed=1).worst
        != compare_schemes(layer, batch, (2, 2, 2, 2), seed=2).worst
    )


def test_windows_that_are_too_much_are_refused_with_those_that_are_not():
    wide = custom("N=window(30000)", None)
    with pytest.raises(InvalidInput, match=r"window\(30000\) along N = 65536 .* radii up to 15 are not"):
        compare_schemes(wide, SCHEMES["batch"], (65536, 1, 1, 1))
    assert compare_schemes(custom("N=window(15)", None), SCHEMES["batch"], (65536, 1, 1, 1)).draws == 3
    with pytest.raises(InvalidInput, match="4 groups do not divide C = 6"):
        compare_schemes(custom("C=groups(4)", None), SCHEMES["batch"], (2, 2, 2, 6))


def test_the_behaviour_of_registered_schemes_is_their_canonical_form_where_nothing_is_degenerate():
    shape = (3, 4, 5, 6)
    for scheme in SCHEMES.values():
        assert compute_behaviour_key(scheme, shape) == scheme.compute_canonical_key(shape)
    assert compute_behaviour_key(custom("N=window(9)", None), shape) == compute_behaviour_key(
        custom("N=full", None), shape
    )
    assert compute_behaviour_key(get_scheme("group", groups=6), shape) == compute_behaviour_key(
        SCHEMES["instance"], shape
    )
    assert Rule("window", 0).simplify(5) == OWN
