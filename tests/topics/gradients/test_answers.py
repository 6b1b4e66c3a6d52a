"""Answers to homework: each mistake made by code that shares no line with what finds it, right ones never refused."""

from collections import Counter

import numpy as np
import pytest
from homework import LETTERS, OF, OVER, Homework

from normviz.core.backward import compute_gradients
from normviz.core.errors import InvalidInput
from normviz.core.layouts import LAYOUTS, parse_layout
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.gradients.answers import ANSWER_NAMES, MAX_ELEMENTS, AnswerVerdict, judge_answer, make_inputs
from normviz.topics.gradients.layouts import reshape_parameter
from normviz.topics.gradients.mistakes import MISTAKES

PLACES = {"wrong-axis", "channels-last", "channels-first", "group-size"}
"""Which may be the same axes by other names."""

SHAPES = {"NC": (6, 8), "NHWC": (4, 4, 5, 6), "NCHW": (4, 6, 4, 5), "BTC": (4, 5, 6)}


def task(seed):
    """A scheme, a layout, a shape and homework on them, all drawn; None where the scheme has nothing to average."""
    rng = np.random.default_rng(seed)
    scheme, layout = get_scheme(str(rng.choice(list(OVER))), groups=2), str(rng.choice(list(LETTERS)))
    (n, h, w), c = (int(k) for k in rng.integers(2, 6, 3)), int(rng.choice([4, 6, 8]))
    shape = {"NC": (n + 2, c), "NHWC": (n, h, w, c), "NCHW": (n, c, h, w), "BTC": (n, h + 1, c)}[layout]
    inputs = make_inputs(scheme, layout, shape, seed, ("float64", "float32")[seed % 2])
    homework = Homework(scheme, layout, inputs, groups=2, rng=rng)
    return None if homework.answer("out") is None else (scheme, layout, inputs, homework)


def seeded(count):
    """That many seeds."""
    return range(1000, 1000 + count)


# --- 500 wrong answers --------------------------------------------------------------------------------------------


def drawn_wrong(seed):
    """A wrong answer with the mistake that was made; None where it cannot be made, or comes to what is right."""
    drawn = task(seed)
    if drawn is None:
        return None
    scheme, layout, inputs, homework = drawn
    name = str(homework.rng.choice(list(OF)))
    mistake = str(homework.rng.choice(OF[name]))
    right, wrong = homework.answer(name), homework.answer(name, mistake)
    if wrong is None or not np.isfinite(wrong).all():
        return None
    if wrong.shape == right.shape and np.abs(wrong - right).max() < 1e-4 * np.abs(right).max():
        return None
    return mistake, judge_answer(scheme, layout, inputs, {name: wrong})[name]


def named(mistake, verdict):
    if mistake in ("wrong-axis", "channels"):
        return verdict.mistake in PLACES
    return verdict.mistake == mistake


def test_the_mistake_is_named_in_500_random_wrong_answers():
    wrong = [drawn for drawn in map(drawn_wrong, seeded(1300)) if drawn is not None][:500]
    assert len(wrong) == 500
    assert {mistake for mistake, _ in wrong} == {mistake for of in OF.values() for mistake in of}
    assert not any(verdict.right for _, verdict in wrong)
    missed = Counter((mistake, verdict.mistake) for mistake, verdict in wrong if not named(mistake, verdict))
    assert sum(missed.values()) <= 5, missed
    # Averages after many steps are any numbers: of too few examples, or of a sum, nobody can tell.
    assert {mistake for mistake, _ in missed} <= {"running-statistics"}, missed


# --- right answers ------------------------------------------------------------------------------------------------


def test_right_answers_are_never_called_wrong():
    """What torch computes in either type, of homework's inputs and of such whose rounding is magnified."""
    judged = 0
    for seed in seeded(200):
        drawn = task(seed)
        if drawn is None:
            continue
        scheme, layout, inputs, homework = drawn
        for offset in (0.0, 30.0):
            x = (inputs["x"] + inputs["x"].dtype.type(offset) * inputs["x"].std()).astype(inputs["x"].dtype)
            shifted = inputs | {"x": x}
            again = Homework(scheme, layout, shifted, groups=2, rng=homework.rng)
            verdicts = judge_answer(scheme, layout, shifted, {name: again.answer(name) for name in ANSWER_NAMES})
            assert all(verdict.right for verdict in verdicts.values()), (seed, offset, verdicts)
            assert all(verdict.mistake is None for verdict in verdicts.values())
            judged += len(verdicts)
    assert judged >= 1000


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("key", SCHEMES)
def test_what_the_core_computes_is_right(key, layout, dtype):
    scheme = get_scheme(key, groups=2)
    inputs = make_inputs(scheme, layout, SHAPES[layout], 3, dtype, 1e-3 if scheme.eps else 0.0)
    x, dout = (parse_layout(layout).to_tensor(inputs[name]) for name in ("x", "dout"))
    if scheme.fields and scheme.eps is None and np.any(normalize(x, scheme, 0.0).deviation == 0):
        return
    wide = {n: reshape_parameter(inputs[n], scheme, n, layout, inputs["x"].shape) for n in ("gamma", "beta")}
    eps = float(inputs["eps"])
    found = compute_gradients(x, dout, scheme, eps, wide["gamma"], wide["beta"])
    y = normalize(x, scheme, eps, wide["gamma"], wide["beta"]).y
    parts = {"out": y, "dx": found.dx, "dgamma": found.dgain, "dbeta": found.dbias}
    answer = {name: parse_layout(layout).from_tensor(part) for name, part in parts.items()}
    for name, verdict in judge_answer(scheme, layout, inputs, answer).items():
        assert verdict.right, (name, verdict)
        assert verdict.error < 1e-5


def one_pass(x, gamma, beta, dout, eps):
    """Batch norm in loops: sums in order, and E[x²] - E[x]², which loses the most digits."""
    kind, m = x.dtype.type, x.dtype.type(len(x))
    mean = np.cumsum(x, 0)[-1] / m
    r = 1 / np.sqrt(np.cumsum(x * x, 0)[-1] / m - mean * mean + kind(eps))
    xhat, g = (x - mean) * r, dout * gamma
    dx = r / m * (m * g - np.cumsum(g, 0)[-1] - xhat * np.cumsum(g * xhat, 0)[-1])
    dgamma, dbeta = np.cumsum(dout * xhat, 0)[-1], np.cumsum(dout, 0)[-1]
    return {"out": gamma * xhat + beta, "dx": dx, "dgamma": dgamma, "dbeta": dbeta}


@pytest.mark.parametrize("dtype", ["float64", "float32"])
@pytest.mark.parametrize("offset", [0, 3, 30])
@pytest.mark.parametrize("m", [4, 500])
def test_what_loses_digits_by_its_formula_is_right(m, offset, dtype):
    inputs = make_inputs(SCHEMES["batch"], "NC", (m, 8), m, dtype)
    inputs["x"] = (inputs["x"] + offset * inputs["x"].std()).astype(dtype)
    verdicts = judge_answer(SCHEMES["batch"], "NC", inputs, one_pass(**inputs))
    assert all(verdict.right for verdict in verdicts.values()), verdicts


def test_an_answer_is_right_where_a_mistake_comes_to_the_same():
    scheme = SCHEMES["batch"]
    inputs = make_inputs(scheme, "NC", (6, 4), 1, eps=0.0)
    x, gamma, beta = inputs["x"], inputs["gamma"], inputs["beta"]
    outside = gamma * (x - x.mean(0)) / (x.std(0) + 0.0) + beta
    assert judge_answer(scheme, "NC", inputs, {"out": outside})["out"].right


def test_a_right_answer_computed_in_float32_and_saved_as_float64_is_right():
    scheme = SCHEMES["layer-channels"]
    inputs = make_inputs(scheme, "BTC", (3, 5, 6), 1)
    short = {name: array.astype(np.float32) for name, array in inputs.items()}
    out = Homework(scheme, "BTC", short).answer("out").astype(np.float64)
    assert judge_answer(scheme, "BTC", inputs, {"out": out})["out"].right


def test_an_answer_of_few_digits_in_float64_is_told_apart():
    scheme = SCHEMES["batch"]
    inputs = make_inputs(scheme, "NC", (6, 4), 1)
    out = Homework(scheme, "NC", inputs).answer("out")
    noisy = out * (1 + 1e-8 * np.random.default_rng(0).standard_normal(out.shape))
    verdict = judge_answer(scheme, "NC", inputs, {"out": noisy})["out"]
    assert (verdict.right, verdict.mistake) == (False, "precision")


# --- single cases -------------------------------------------------------------------------------------------------


def answered(key, layout, name, change, groups=2):
    scheme = get_scheme(key, groups=groups)
    inputs = make_inputs(scheme, layout, SHAPES[layout], 1)
    homework = Homework(scheme, layout, inputs, groups=groups)
    return judge_answer(scheme, layout, inputs, {name: change(homework.answer(name))})[name]


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (lambda y: y.sum(), "wrong-shape"),
        (lambda y: y[:-1], "wrong-shape"),
        (lambda y: np.swapaxes(y, 1, 2), "transposed"),
        (lambda y: np.cos(y), None),
        (lambda y: np.zeros_like(y), None),
        (lambda y: 2 * y, None),
    ],
)
def test_what_no_formula_explains_is_wrong_without_a_name(change, mistake):
    verdict = answered("layer", "NCHW", "out", change)
    assert (verdict.right, verdict.mistake) == (False, mistake)
    assert (verdict.error is None) == (mistake == "wrong-shape" or mistake == "transposed")


def test_a_reshape_without_a_transpose_is_reading_channels_last():
    """What is handed in most for spatial batch norm: x.reshape(-1, C) of (N, C, H, W)."""
    scheme = SCHEMES["batch"]
    inputs = make_inputs(scheme, "NCHW", SHAPES["NCHW"], 1)
    x = inputs["x"].reshape(-1, 6)
    out = inputs["gamma"] * (x - x.mean(0)) / np.sqrt(x.var(0) + inputs["eps"]) + inputs["beta"]
    assert judge_answer(scheme, "NCHW", inputs, {"out": out.reshape(SHAPES["NCHW"])})["out"].mistake == "channels-last"


@pytest.mark.parametrize("name", ["out", "dx"])
def test_twice_what_is_right_is_not_of_other_statistics(name):
    verdict = answered("batch", "NCHW", name, lambda y: 2 * y)
    assert (verdict.right, verdict.mistake) == (False, None)


def test_two_mistakes_are_both_named():
    scheme = SCHEMES["batch"]
    inputs = make_inputs(scheme, "NC", (6, 8), 1)
    x, eps = inputs["x"], inputs["eps"]
    out = inputs["gamma"] * (x - x.mean(0)) / (x.std(0, ddof=1) + eps) + inputs["beta"]
    assert judge_answer(scheme, "NC", inputs, {"out": out})["out"][2:4] == ("eps-outside-root", "sample-variance")
    out = inputs["gamma"] * (x - x.mean(1, keepdims=True)) / (x.var(1, keepdims=True) + eps) + inputs["beta"]
    assert judge_answer(scheme, "NC", inputs, {"out": out})["out"][2:4] == ("wrong-axis", "no-root")


@pytest.mark.parametrize(
    ("change", "mistake"),
    [
        (lambda w, s: w / np.sqrt((w**2).mean(0)), "no-scale"),
        (lambda w, s: w * s, None),
    ],
)
def test_weight_norm_s_own_mistake(change, mistake):
    scheme = SCHEMES["weight"]
    inputs = make_inputs(scheme, "NC", (6, 8), 1)
    out = inputs["gamma"] * change(inputs["x"], 1.7) + inputs["beta"]
    assert judge_answer(scheme, "NC", inputs, {"out": out})["out"].mistake == mistake


def test_spectral_norm_with_sigma_taken_as_a_constant():
    scheme = SCHEMES["spectral"]
    inputs = make_inputs(scheme, "NC", (6, 8), 1)
    dx = inputs["dout"] * inputs["gamma"] / np.linalg.norm(inputs["x"], 2)
    assert judge_answer(scheme, "NC", inputs, {"dx": dx})["dx"].mistake == "variance-path"


def test_gamma_and_beta_may_be_left_out_and_epsilon_be_given_beside():
    scheme = SCHEMES["batch"]
    x = make_inputs(scheme, "NC", (6, 8), 1)["x"]
    out = (x - x.mean(0)) / np.sqrt(x.var(0) + 0.25)
    assert judge_answer(scheme, "NC", {"x": x}, {"out": out}, 0.25) == {
        "out": AnswerVerdict(True, pytest.approx(0, abs=1e-13))
    }


# --- what is listed, and what is refused --------------------------------------------------------------------------


def test_every_mistake_says_what_it_is_and_what_to_do():
    assert all(key == row.key for key, row in MISTAKES.items())
    assert all(row.description.endswith(".") and row.remedy.endswith(".") and row.name for row in MISTAKES.values())
    assert len({row.description for row in MISTAKES.values()}) == len(MISTAKES)
    assert {mistake for of in OF.values() for mistake in of} - {"channels"} <= set(MISTAKES)


X = np.ones((2, 3)) * [[1.0, 2, 3], [4, 5, 7]]


@pytest.mark.parametrize(
    ("layout", "inputs", "answer", "message"),
    [
        ("CN", {"x": X}, {"out": X}, "'CN' is not a layout; NC, NHWC, NCHW, BTC are."),
        ("NC", {}, {"out": X}, "the inputs hold no x."),
        ("NC", {"x": X}, {}, "the answer holds none of out, dx, dgamma, dbeta."),
        ("NC", {"x": X, "y": X}, {"out": X}, "'y' is no name in the inputs; x, gamma, beta, eps, dout are."),
        ("NC", {"x": X}, {"y": X}, "'y' is no name in the answer; out, dx, dgamma, dbeta are."),
        ("NC", {"x": X}, {"dx": X}, "dx is judged by dout, and the inputs hold none."),
        ("NC", {"x": X, "dout": X.T}, {"dx": X}, "dout has the shape"),
        ("NCHW", {"x": X}, {"out": X}, "x has 2 axes; NCHW has 4."),
        ("NC", {"x": X[:0]}, {"out": X}, "every axis needs at least one element."),
        ("NC", {"x": X, "gamma": np.ones(2)}, {"out": X}, "gamma has the shape (2,); beside x of (2, 3) it has (3,)."),
        ("NC", {"x": X}, {"out": X * np.nan}, "out holds 6 NaN or infinite values; finite ones are needed."),
        ("NC", {"x": np.array([[None]])}, {"out": X}, "x holds object values; real numbers are needed."),
        ("NC", {"x": X}, {"out": X * 1j}, "out holds complex128 values"),
        ("NC", {"x": np.ones((2, MAX_ELEMENTS))}, {"out": X}, "elements; up to"),
        ("NC", {"x": X}, {"out": np.ones((1,) * 9)}, "out has 9 axes; up to 4 are read."),
        ("NC", {"x": X, "eps": np.array([1e-5, 1])}, {"out": X}, "eps has 2 elements; it is one number."),
        ("NC", {"x": X, "eps": np.array(-1.0)}, {"out": X}, "ε is a number from 0; this one is -1.0."),
        ("NC", {"x": np.ones((3, 2)), "eps": np.array(0.0)}, {"out": X}, "the inputs divide 0 by 0"),
    ],
)
def test_bad_arrays_are_refused_in_one_line(layout, inputs, answer, message):
    with pytest.raises(InvalidInput) as told:
        judge_answer(SCHEMES["batch"], layout, inputs, answer)
    assert message in str(told.value)
    assert "\n" not in str(told.value)


def test_windows_that_would_fill_the_memory_are_refused():
    x = np.ones((1, MAX_ELEMENTS))
    with pytest.raises(InvalidInput, match="is too much for"):
        judge_answer(get_scheme("divisive", radius=MAX_ELEMENTS), "NC", {"x": x}, {"out": x})


@pytest.mark.parametrize(
    ("layout", "shape", "dtype"), [("CN", (2, 3), "float64"), ("NC", (2,), "float64"), ("NC", (2, 3), "int8")]
)
def test_inputs_that_cannot_be_made_are_refused(layout, shape, dtype):
    with pytest.raises(InvalidInput):
        make_inputs(SCHEMES["batch"], layout, shape, 0, dtype)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_layout_is_undone(layout):
    x = np.arange(np.prod(SHAPES[layout])).reshape(SHAPES[layout])
    assert np.array_equal(parse_layout(layout).from_tensor(parse_layout(layout).to_tensor(x)), x)
