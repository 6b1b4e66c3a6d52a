"""What the cube plays: the numbers of every stage, its words, and where the cells stand when a field has collapsed."""

from math import prod

import numpy as np
import pytest
from strategies import uneven_array

from normviz.charts.cube import LEVELS_PER_HUE, build_stages_data
from normviz.core.fields import FULL, OWN, Field, Rule
from normviz.core.normalize import LayerScalars, normalize
from normviz.core.registry import SCHEMES
from normviz.topics.lab.stages import COPIED, build_stages

SHAPE = (4, 3, 4, 6)


def played(key, shape=SHAPE, **numbers):
    scheme, x = SCHEMES[key], uneven_array(shape, 0)
    gain, bias, eps = (numbers.get(name, usual) for name, usual in (("gain", 1.0), ("bias", 0.0), ("eps", 1e-5)))
    result = normalize(x, scheme, eps, gain, bias)
    return scheme, x, result, list(build_stages(scheme, x, result, LayerScalars(eps, gain, bias, 0.25)))


def divisor_of(scheme, symbol):
    """The symbol of what divides."""
    return "σ₁" if scheme.kind.key == "spectral" else "σ²" if scheme.summation is not None else f"mean {symbol}²"


def test_where_a_square_leaves_the_range_of_a_float_its_root_is_shown():
    x = uneven_array(SHAPE, 0) * 1e200
    result = normalize(x, SCHEMES["batch"], 1e-5)
    symbols = [stage.symbol for stage in build_stages(SCHEMES["batch"], x, result, LayerScalars(1e-5, 1.0, 0.0))]
    assert symbols[4:6] == ["√(σ² + ε)"] * 2


@pytest.mark.parametrize("key", SCHEMES)
def test_the_stages_are_those_of_the_general_form(key):
    scheme, x, result, found = played(key, gain=2.0, bias=0.5)
    values = {stage.symbol: stage.values for stage in found}
    symbol = found[0].symbol
    expected = {symbol: x}
    if result.mean is not None:
        expected |= {"μ": result.mean, f"{symbol} − μ": result.v}
    if result.deviation is not None:
        square = result.deviation if scheme.kind.key == "spectral" else result.deviation**2 - 1e-5
        expected |= {divisor_of(scheme, symbol): square, f"{symbol}̂": result.xhat}
    if scheme.kind.key == "whitening" or scheme.function:
        expected[f"{symbol}̂"] = result.xhat
    if scheme.gain is not None or scheme.bias is not None:
        expected["y"] = result.y
    if scheme.threshold is not None:
        expected["z"] = np.maximum(result.y, 0.25)
    assert list(values) == list(expected)
    for name, array in expected.items():
        np.testing.assert_allclose(values[name], array, atol=1e-14)


@pytest.mark.parametrize("key", SCHEMES)
def test_a_statistic_collapses_and_goes_back_unless_it_is_of_windows(key):
    scheme, _, _, found = played(key)
    for symbol, field in (
        ("μ", scheme.summation),
        (divisor_of(scheme, found[0].symbol), None if scheme.kind.key == "whitening" else scheme.suppression),
    ):
        of = [stage for stage in found if stage.symbol == symbol]
        if field is None:
            assert of == []
        elif field.windowed_axes:
            assert [(stage.gathered, stage.slides) for stage in of] == [(None, True)]
        else:
            together = field.simplify(SHAPE)
            assert [(stage.gathered, stage.slides) for stage in of] == [(together, False), (None, False)]
            assert of[0].says.endswith(f"{prod(SHAPE)} numbers become {prod(field.compute_statistics_shape(SHAPE))}.")


@pytest.mark.parametrize("shape", [SHAPE, (4, 1, 1, 6), (2, 3, 1, 2)])
@pytest.mark.parametrize("key", SCHEMES)
def test_the_broadcast_is_called_a_copy_in_its_sentence_and_along_every_axis(key, shape):
    check_broadcasts(played(key, shape)[3], shape)


def check_broadcasts(found, shape):
    """Check the labels that the browser shows, in the data that it gets."""
    data = build_stages_data(found, shape, "light")["list"]
    statistics = [stage for stage in data if stage["symbol"] in ("μ", "σ²", "σ₁", "mean x²", "mean w²")]
    for stage in statistics:
        words = [done for _, done in stage["axes"]]
        if stage["place"] or stage["slides"]:
            assert COPIED not in words
            continue
        assert stage["says"] == f"Broadcast: copy each {stage['symbol']} to the elements it came from."
        for n, (count, done) in zip(shape, stage["axes"], strict=True):
            assert done == ("" if n == 1 else "kept" if count == n else COPIED)


def test_a_broadcast_copies_nothing_along_an_axis_with_windows():
    scheme = SCHEMES["custom"].with_fields(None, Field((OWN, FULL, FULL, Rule("window", 1))))
    x = uneven_array(SHAPE, 0)
    found = list(build_stages(scheme, x, normalize(x, scheme, 1e-5, 1.0, 0.0), LayerScalars(1e-5, 1.0, 0.0)))
    check_broadcasts(found, SHAPE)
    assert [stage.axes for stage in found if stage.symbol == "mean x²"][1] == [
        (4, "kept"), (1, COPIED), (1, COPIED), (6, "kept"),
    ]  # fmt: skip


def test_what_is_said_is_what_is_done():
    says = {stage.symbol: stage.says for stage in played("batch", gain=2.0, bias=-0.5)[3]}
    assert says["x"] == "x, the tensor as it comes: 288 numbers."
    assert says["x − μ"] == "Subtract its mean from every element: x − μ."
    assert says["x̂"] == "Divide every element: x̂ = (x − μ) / √(σ² + ε), with ε = 10⁻⁵."
    assert says["y"].endswith("y = γ x̂ + β, here γ = 2 and β = −0.5.")
    first = played("group")[3]
    assert "N kept, H, W averaged, C in 2 groups" in first[1].says
    assert first[4].says.startswith("The mean σ² of (x − μ)²: N kept, H, W averaged, C in 2 groups.")
    assert "The mean of x²: N, H, W kept, C averaged." in played("rms")[3][1].says
    assert "ε" not in " ".join(stage.says for stage in played("weight")[3])
    assert played("whitening")[3][4].says == (
        "2 covariance matrices Σ of 3 × 3, over N, H, W: the channels of every position, times (Σ + εI)^(−1/2) of "
        "their group, with ε = 10⁻⁵, give x̂."
    )
    assert "The largest singular value: of all of it as one matrix." in played("spectral")[3][1].says


def test_windows_collapse_along_the_other_axes_and_where_they_hold_all():
    x = uneven_array(SHAPE, 0)

    def told(**rules):
        field = Field(tuple(Rule.parse(rules.get(axis, "own")) for axis in "NHWC"))
        scheme = SCHEMES["custom"].with_fields(field, None)
        return list(build_stages(scheme, x, normalize(x, scheme), LayerScalars(0.0, 1.0, 0.0)))[1]

    alone, beside, whole = told(C="window(1)"), told(H="full", C="window(1)"), told(C="window(9)")
    assert (alone.slides, alone.gathered) == (True, None)
    assert (beside.slides, beside.gathered.with_own_windows) == (False, Field((OWN, FULL, OWN, OWN)))
    assert beside.says.endswith("288 numbers become 96.")
    assert "C averaged" in whole.says
    assert whole.says.endswith("288 numbers become 48.")


def test_what_is_sent_of_the_stages():
    scheme, x, _, found = played("batch")
    data = build_stages_data(found, SHAPE)
    assert [stage["place"] for stage in data["list"]] == [0, 1, 0, 0, 2, 0, 0, 0]
    assert [stage["look"] for stage in data["list"]] == [0] * 4 + [1] * 2 + [2] * 2
    assert data["band"] == LEVELS_PER_HUE
    assert data["looks"][0]["largest"] == max(np.abs(stage.values).max() for stage in found if stage.scale == 0)
    assert data["looks"][2]["trace"]["colorbar"]["ticktext"][-1] == f"{np.abs(found[-1].values).max():.3g}"
    np.testing.assert_array_equal(data["list"][0]["values"], x.ravel().astype(np.float32))
    for place, field in ((1, scheme.summation), (2, scheme.suppression)):
        np.testing.assert_array_equal(
            np.concatenate(data["places"][place]), np.concatenate(field.compute_bounds(SHAPE))
        )
    assert data["places"][0] is None
