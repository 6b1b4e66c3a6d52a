"""What the statistics that an answer implies are called, and mistakes that are a factor and a shift per channel."""

import numpy as np
import pytest

from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.gradients.answers import judge_answer, make_inputs
from normviz.topics.gradients.mistakes import MISTAKES

BATCH = SCHEMES["batch"]
INPUTS = make_inputs(BATCH, "NC", (16, 6), 1)
X, GAMMA, BETA, EPS, DOUT = INPUTS.values()
MEAN, VAR, M = X.mean(0), X.var(0), len(X)


def named(y, name="out", inputs=INPUTS):
    verdict = judge_answer(BATCH, "NC", inputs, {name: y})[name]
    assert not verdict.right
    return verdict.mistake, verdict.beside


def exchanged(gamma):
    gamma = gamma.copy()
    gamma[[1, 4]] = gamma[[4, 1]]
    return gamma


# --- a factor and a shift per channel -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("y", "mistake"),
    [
        (GAMMA * (X - MEAN) / (np.abs(X - MEAN).mean(0) + EPS) + BETA, "absolute-deviation"),
        (GAMMA * (X - MEAN) / np.abs(X - MEAN).mean(0) + BETA, "absolute-deviation"),
        (GAMMA * (X - MEAN) / np.sqrt(np.abs(X - MEAN).mean(0) + EPS) + BETA, "absolute-deviation"),
        (GAMMA * (X - X.min(0)) / (X.max(0) - X.min(0)) + BETA, "min-max"),
        (GAMMA * (X - X.min(0)) / (X.max(0) - X.min(0) + EPS) + BETA, "min-max"),
        (GAMMA * (2 * (X - X.min(0)) / (X.max(0) - X.min(0)) - 1) + BETA, "min-max"),
        (GAMMA * (X - MEAN) / (X.max(0) - X.min(0)) + BETA, "min-max"),
        ((1 + GAMMA) * (X - MEAN) / np.sqrt(VAR + EPS) + BETA, "gamma-plus-one"),
        (exchanged(GAMMA) * (X - MEAN) / np.sqrt(VAR + EPS) + BETA, "swapped-gamma"),
        (X, "x-itself"),
    ],
)
def test_five_maps_of_x_have_names_of_their_own(y, mistake):
    assert named(y) == (mistake, None)


def test_nothing_but_the_parameters_is_two_mistakes():
    assert named(GAMMA * X + BETA) == ("no-centring", "no-division")
    assert named((X - X.min(0)) / (X.max(0) - X.min(0))) == ("min-max", "forgot-gamma")


@pytest.mark.parametrize("spread", ["quartiles", "one for all", "negative"])
def test_any_other_factor_and_shift_is_not_called_running_averages(spread):
    quartiles = np.subtract(*np.percentile(X, [75, 25], 0))
    divisor = {"quartiles": quartiles, "one for all": np.sqrt(0.004), "negative": -quartiles}[spread]
    shift = 0.013 if spread == "one for all" else np.median(X, 0)
    assert named(GAMMA * (X - shift) / divisor + BETA) == ("other-statistics", None)
    assert named(GAMMA * DOUT / divisor, "dx") == ("other-statistics", None)
    assert "a factor and a shift" in MISTAKES["other-statistics"].description


# --- running averages -----------------------------------------------------------------------------------------------


def running(share, start=1.0, unbiased=True):
    variance = VAR * (M / (M - 1) if unbiased else 1.0)
    return share * MEAN, (1 - share) * start + share * variance


@pytest.mark.parametrize("unbiased", [False, True])
@pytest.mark.parametrize("start", [0.0, 1.0])
@pytest.mark.parametrize("share", [0.0, 0.001, 0.0199, 0.37, 0.9, 0.9999])
def test_running_averages_after_any_number_of_steps_are_known(share, start, unbiased):
    mean, variance = running(share, start, unbiased)
    out = GAMMA * (X - mean) / np.sqrt(variance + EPS) + BETA
    assert named(out)[0] == "running-statistics"
    if start or share in (0.001, 0.9):
        dx = GAMMA * DOUT / np.sqrt(variance + EPS)
        assert named(dx, "dx")[0] == "running-statistics"


def test_running_averages_that_are_stored_in_float32_are_known():
    mean, variance = (each.astype(np.float32).astype(float) for each in running(0.37))
    assert named(GAMMA * (X - mean) / np.sqrt(variance + EPS) + BETA)[0] == "running-statistics"


def test_each_channel_by_a_momentum_of_its_own_is_no_running_average():
    mean, variance = running(np.linspace(0.1, 0.9, 6))
    assert named(GAMMA * (X - mean) / np.sqrt(variance + EPS) + BETA)[0] == "other-statistics"


def test_the_mean_and_the_variance_have_one_momentum():
    (mean, _), (_, variance) = running(0.9), running(0.3)
    assert named(GAMMA * (X - mean) / np.sqrt(variance + EPS) + BETA)[0] == "other-statistics"


def test_variances_below_zero_are_no_running_averages():
    """1/σ above 1/√ε: no variance from 0 gives it."""
    assert named(GAMMA * (X - MEAN / 2) * np.linspace(2, 3, 6) / np.sqrt(EPS) + BETA)[0] == "other-statistics"


def test_what_is_nearly_right_is_no_running_average_of_the_whole_batch():
    variance = VAR * np.linspace(0.995, 1.005, 6)
    assert named(GAMMA * (X - MEAN) / np.sqrt(variance + EPS) + BETA)[0] != "running-statistics"


def test_one_channel_tells_nothing_of_a_common_momentum():
    inputs = make_inputs(BATCH, "NC", (16, 1), 1)
    x, gamma, beta, eps, _ = inputs.values()
    out = gamma * (x - 0.37 * x.mean(0)) / np.sqrt(0.63 + 0.37 * x.var(0, ddof=1) + eps) + beta
    assert named(out, inputs=inputs)[0] != "running-statistics"


# --- m − 1 ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("forward", "backward"), [(0, 1), (1, 0), (1, 1)])
def test_m_minus_1_is_known_in_dx_wherever_it_stands(forward, backward):
    r = 1 / np.sqrt(VAR * M / (M - forward) + EPS)
    xhat, g, k = (X - MEAN) * r, DOUT * GAMMA, M - backward
    dx = r / k * (k * g - g.sum(0) - xhat * (g * xhat).sum(0))
    assert named(dx, "dx") == ("sample-variance", None)


def test_m_minus_1_is_known_in_the_mean_too():
    mean = X.sum(0) / (M - 1)
    variance = ((X - mean) ** 2).sum(0) / (M - 1)
    assert named(GAMMA * (X - mean) / np.sqrt(variance + EPS) + BETA) == ("sample-variance", None)


# --- where mistakes come to the same numbers ------------------------------------------------------------------------


def test_of_two_elements_the_older_names_stay():
    """Of two numbers the mean absolute deviation is σ."""
    inputs = make_inputs(get_scheme("group", groups=4), "NC", (6, 8), 1)
    x, gamma, beta, eps, _ = inputs.values()
    pairs = x.reshape(6, 4, 2)
    v = pairs - pairs.mean(2, keepdims=True)
    for divisor, mistake in ((v.std(2) + eps, "eps-outside-root"), (v.std(2), "no-eps")):
        out = gamma * (v / divisor[:, :, None]).reshape(6, 8) + beta
        assert judge_answer(get_scheme("group", groups=4), "NC", inputs, {"out": out})["out"].mistake == mistake
