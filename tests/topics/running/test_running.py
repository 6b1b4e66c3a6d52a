"""Batch norm's running averages and what follows from batch statistics, held against torch and Keras."""

import os

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import seeds, uneven_array

from normviz.core.errors import InvalidInput
from normviz.core.registry import DEFAULT_EPS, SCHEMES
from normviz.topics.running import effects as running_effects
from normviz.topics.running import stream as running
from normviz.topics.running.averages import CONVENTIONS, Moments, compute_lag, compute_running_averages
from normviz.topics.running.stream import BATCHES, UNITS, Setting

SETTINGS = [
    Setting("dense", 16, 0.0),
    Setting("dense", 3, 2.0, seed=5),
    Setting("conv", 4, 1.0, seed=2),
    Setting("conv", 1, 0.0),
]
NAMES = [f"{setting.layer} {setting.batch} drift {setting.drift:g}" for setting in SETTINGS]
each_setting = pytest.mark.parametrize("setting", SETTINGS, ids=NAMES)
CLOSE = {"rtol": 1e-12, "atol": 1e-12}


def frozen_of(setting, share=0.1, convention="keras"):
    seen, row = running.trace_stream(setting), CONVENTIONS[convention]
    averages = compute_running_averages(
        seen.mean, seen.variance, setting.element_count, row, row.convert_momentum(share)
    )
    return Moments(averages.mean[-1], averages.variance[-1])


def torch_layer(setting, momentum=0.1):
    kind = torch.nn.BatchNorm1d if setting.output_side == 1 else torch.nn.BatchNorm2d
    return kind(UNITS, momentum=momentum, dtype=torch.float64)


def for_torch(z):
    """(N, H, W, C) as torch has it: (N, C) or (N, C, H, W)."""
    z = torch.as_tensor(np.array(z)).movedim(-1, 1)
    return z[:, :, 0, 0] if z.shape[2:] == (1, 1) else z


@each_setting
@pytest.mark.parametrize("momentum", [0.1, 0.003, 1.0])
def test_running_averages_and_evaluation_are_torchs(setting, momentum):
    layer, seen = torch_layer(setting, momentum), running.trace_stream(setting)
    averages = compute_running_averages(
        seen.mean, seen.variance, setting.element_count, CONVENTIONS["pytorch"], momentum
    )
    for step, z in enumerate(running.compute_stream_pre_activations(setting)):
        np.testing.assert_allclose(averages.mean[step], layer.running_mean, **CLOSE)
        np.testing.assert_allclose(averages.variance[step], layer.running_var, **CLOSE)
        y = layer(for_torch(z)).detach().movedim(1, -1).reshape(z.shape)
        middle = setting.output_side // 2
        np.testing.assert_allclose(seen.xhat[step], y[: running.MAX_SHOWN_DIGITS, middle, middle], atol=1e-9)
    np.testing.assert_allclose(averages.mean[-1], layer.running_mean, **CLOSE)
    np.testing.assert_allclose(averages.variance[-1], layer.running_var, **CLOSE)
    gain, bias = running.make_affine_parameters(setting)
    with torch.no_grad():
        layer.weight.copy_(torch.as_tensor(gain))
        layer.bias.copy_(torch.as_tensor(bias))
        expected = layer.eval()(for_torch(z)).movedim(1, -1).reshape(z.shape)
    evaluated = running.normalize_in_inference(z, averages.mean[-1], averages.variance[-1], layer.eps, gain, bias)
    np.testing.assert_allclose(evaluated, expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("momentum", [0.99, 0.5])
def test_running_averages_are_those_of_keras(momentum):
    import keras

    setting = SETTINGS[1]
    layer, seen = keras.layers.BatchNormalization(momentum=momentum), running.trace_stream(setting)
    averages = compute_running_averages(seen.mean, seen.variance, setting.element_count, CONVENTIONS["keras"], momentum)
    for z in running.compute_stream_pre_activations(setting, range(30)):
        layer(torch.as_tensor(z[:, 0, 0], dtype=torch.float32), training=True)
    for own, kept in ((averages.mean, layer.moving_mean), (averages.variance, layer.moving_variance)):
        np.testing.assert_allclose(own[30], keras.ops.convert_to_numpy(kept), rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("key", CONVENTIONS)
def test_the_defaults_are_the_frameworks(key):
    import keras

    layers = {"pytorch": torch.nn.BatchNorm1d(1), "keras": keras.layers.BatchNormalization()}
    assert CONVENTIONS[key].momentum == layers[key].momentum


@given(st.floats(0, 1), seeds)
def test_the_conventions_say_the_same_of_the_mean(share, seed):
    means, variances = (uneven_array((7, 1, 1, 3), seed + k)[:, 0, 0] for k in range(2))
    kept = [
        compute_running_averages(means, variances**2, 5, row, row.convert_momentum(share))
        for row in CONVENTIONS.values()
    ]
    np.testing.assert_allclose(kept[0].mean, kept[1].mean, **CLOSE)
    start, step = 1 - share, np.arange(8)[:, None]
    excess = kept[0].variance - start**step, kept[1].variance - start**step  # without what is left of the first 1
    np.testing.assert_allclose(excess[0], excess[1] * 5 / 4, rtol=1e-9, atol=1e-9)


@given(st.floats(0.01, 1))
def test_the_lag_of_a_steady_drift(share):
    steps = round(40 / share)
    ramp = np.arange(steps, dtype=float)[:, None]
    row = CONVENTIONS["keras"]
    kept = compute_running_averages(ramp, ramp, 2, row, row.convert_momentum(share)).mean
    assert ramp[-1] - kept[-1] == pytest.approx(compute_lag(share), rel=1e-6, abs=1e-6)


@each_setting
def test_batch_and_population_statistics_are_torchs(setting):
    seen = running.trace_stream(setting)
    for step in (0, 7, BATCHES - 1):
        z = torch.as_tensor(running.compute_stream_pre_activations(setting, [step])[0]).reshape(-1, UNITS)
        everything = torch.as_tensor(
            running.compute_layer_pre_activations(running.load_digit_split()[0], setting, step)
        ).reshape(-1, UNITS)
        for values, mean, variance in (
            (z, seen.mean, seen.variance),
            (everything, seen.population_mean, seen.population_variance),
        ):
            np.testing.assert_allclose(mean[step], values.mean(0), **CLOSE)
            np.testing.assert_allclose(variance[step], values.var(0, unbiased=False), **CLOSE)


@each_setting
def test_a_layer_is_torchs(setting):
    pictures, w = (
        torch.as_tensor(running.load_digit_split(test=True)[0]),
        torch.as_tensor(running.compute_drifted_weights(setting, 9)),
    )
    kernel = running.PATCH_SIDES[setting.layer]
    z = torch.nn.functional.conv2d(pictures[:, None], w.T.reshape(UNITS, 1, kernel, kernel)).movedim(1, -1)
    np.testing.assert_allclose(running.compute_layer_pre_activations(pictures.numpy(), setting, 9), z, **CLOSE)


def test_train_and_test_digits_are_apart():
    (train, classes), (test, labels) = running.load_digit_split(), running.load_digit_split(test=True)
    assert len(train) + len(test) == 1797
    assert len(train) == len(classes)
    assert set(labels) == set(range(10))


@given(st.lists(st.integers(1, 9), min_size=1, max_size=6), seeds)
def test_merged_shards_are_the_whole(counts, seed):
    z = uneven_array((sum(counts), 1, 1, 3), seed)[:, 0, 0] * 100 + 1e3
    parts = np.split(z, np.cumsum(counts)[:-1])
    merged = running.merge_moments(counts, np.stack([p.mean(0) for p in parts]), np.stack([p.var(0) for p in parts]))
    variance, mean = torch.var_mean(torch.as_tensor(z), 0, unbiased=False)
    np.testing.assert_allclose(merged.mean, mean, rtol=1e-12)
    np.testing.assert_allclose(merged.variance, variance, rtol=1e-9, atol=1e-9)


@each_setting
@pytest.mark.parametrize("devices", [1, 3])
def test_the_shards_of_a_batch(setting, devices):
    if devices > setting.batch:
        with pytest.raises(InvalidInput, match="1 to 1 can"):
            running_effects.split_batch_among_devices(setting, devices)
        return
    counts, parts = running_effects.split_batch_among_devices(setting, devices, 3)
    assert counts.sum() == setting.element_count
    seen = running.trace_stream(setting)
    merged = running.merge_moments(counts, *parts)
    np.testing.assert_allclose(merged.mean, seen.mean[3], **CLOSE)
    np.testing.assert_allclose(merged.variance, seen.variance[3], **CLOSE)


@each_setting
@pytest.mark.parametrize("eps", [DEFAULT_EPS, 0.1])
def test_folded_is_unfolded_and_torchs(setting, eps):
    frozen = frozen_of(setting)
    folded, residual = running_effects.fold_and_compare_outputs(setting, frozen, eps)
    assert residual < 1e-14
    layer, x = torch_layer(setting).eval(), running.extract_patches(running.load_digit_split(test=True)[0], setting)
    with torch.no_grad():
        for target, value in zip(
            (layer.running_mean, layer.running_var, layer.weight, layer.bias),
            (*frozen, *running.make_affine_parameters(setting)),
            strict=True,
        ):
            target.copy_(torch.as_tensor(value))
        layer.eps = eps
        y = layer(for_torch(x @ running.compute_drifted_weights(setting, BATCHES - 1))).movedim(1, -1)
    np.testing.assert_allclose((x @ folded.weights + folded.bias).reshape(y.shape), y, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("layer", running.LAYERS)
def test_the_bias_of_the_variance(layer):
    setting = Setting(layer)
    found = running_effects.sample_batch_statistics(setting, (2, 8, 64))
    everything = running.compute_batch_statistics(
        running.compute_layer_pre_activations(running.load_digit_split()[0], setting)
    )
    np.testing.assert_allclose(found.population.mean, everything.mean, **CLOSE)
    np.testing.assert_allclose(found.population.variance, everything.variance, **CLOSE)
    np.testing.assert_allclose(found.variance, found.expected, rtol=0.03)
    corrected = found.corrected_variance / found.population.variance
    if layer == "dense":
        size = np.array([[2], [8], [64]])
        np.testing.assert_allclose(found.expected, found.population.variance * (size - 1) / size, rtol=1e-12)
        np.testing.assert_allclose(corrected, 1, atol=0.03)
    else:
        exact = found.expected * found.elements / (found.elements - 1) / found.population.variance
        assert exact[0].min() < 0.995 < 1.005 < exact[0].max()  # the positions of a digit are no independent draws
        np.testing.assert_allclose(corrected, exact, rtol=0.01)


@given(st.integers(2, 4), seeds)
def test_the_standard_error_of_the_variance_is_that_of_all_batches(size, seed):
    """Against every batch of a few digits that there is, the digits having one position or several."""
    for positions in (1, 3):
        x = uneven_array((5, positions, 1, 2), seed)
        own = running.compute_moments(x, running.DIGIT_FIELD)
        whole = running.compute_batch_statistics(x)
        chosen = np.stack(np.meshgrid(*[np.arange(5)] * size), -1).reshape(-1, size)
        every = running.compute_batch_statistics(x[chosen]).variance.std(0)
        exact = running_effects.compute_variance_error(own, whole, np.array([[size]]))[0]
        np.testing.assert_allclose(exact, every, rtol=1e-6)


def test_a_dense_layers_standard_error_is_the_known_formula_with_the_kurtosis():
    found, n = running_effects.sample_batch_statistics(Setting(seed=7), (2, 16)), np.array([[2], [16]])
    x, whole = running.compute_layer_pre_activations(running.load_digit_split()[0], Setting(seed=7)), found.population
    kurtosis = np.mean((x - whole.mean) ** 4, axis=(0, 1, 2)) / whole.variance**2
    known = (n - 1) ** 2 / n**3 * whole.variance**2 * (kurtosis - (n - 3) / (n - 1))
    np.testing.assert_allclose(found.expected_variance_error, np.sqrt(known), rtol=1e-9)


@pytest.mark.parametrize("layer", running.LAYERS)
def test_the_bias_is_that_of_batches_that_are_normalized(layer):
    """The same, without the short cut over each digit's own statistics."""
    setting = Setting(layer)
    z = running.compute_layer_pre_activations(running.load_digit_split()[0], setting)
    chosen = np.random.default_rng(0).integers(0, len(z), (4000, 2))
    measured = running.compute_batch_statistics(z[chosen]).variance.mean(0)
    np.testing.assert_allclose(measured, running_effects.sample_batch_statistics(setting, (2,)).expected[0], rtol=0.06)


@pytest.mark.parametrize("scheme", running_effects.COMPARED_SCHEMES, ids=lambda scheme: scheme.key)
@pytest.mark.parametrize("layer", running.LAYERS)
def test_other_examples_matter_where_the_field_spans_the_batch(scheme, layer):
    (outputs,) = running_effects.normalize_in_random_batches(Setting(layer, 4), [scheme]).values()
    assert outputs.shape == (running_effects.DRAW_COUNT, UNITS)
    spans = any(field.rules[0].kind != "own" for field in scheme.fields)
    assert (np.ptp(outputs, axis=0) > 0.1).any() == spans
    assert spans or (np.ptp(outputs, axis=0) == 0).all()


def test_other_examples_matter_less_in_large_batches():
    spread = [
        running_effects.normalize_in_random_batches(Setting(batch=n), [SCHEMES["batch"]])["batch"].std(0)
        for n in (4, 16, 64)
    ]
    assert (spread[0] > spread[1]).all()
    assert (spread[1] > spread[2]).all()


def test_what_cannot_be():
    seen = running.trace_stream(Setting(batch=1))
    with pytest.raises(InvalidInput, match="a batch of 2"):
        compute_running_averages(seen.mean, seen.variance, 1, CONVENTIONS["pytorch"], 0.1)
    with pytest.raises(InvalidInput, match="from 0 to 1"):
        compute_running_averages(seen.mean, seen.variance, 1, CONVENTIONS["keras"], 1.5)
    with pytest.raises(InvalidInput, match="an ε of 10⁻⁵"):
        running.normalize_in_inference(seen.mean, seen.mean[0], np.zeros(UNITS), 0.0)
    with pytest.raises(InvalidInput, match="layer = 'round'; dense or conv would do"):
        Setting("round")
    for name, most in (("batch", 128), ("drift", 3), ("seed", 9999)):
        with pytest.raises(InvalidInput, match=f"{name} = {most + 1}; a .*number from . to {most} would do"):
            Setting(**{name: most + 1})
