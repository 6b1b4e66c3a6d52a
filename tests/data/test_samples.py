import numpy as np
import pytest
from hypothesis import example, given, settings
from strategies import seeds, shapes

from normviz.data.samples import SAMPLES, _sample_digit_images, sample_digit_features, sample_digits, sample_uneven

EVERY = pytest.mark.parametrize("key", SAMPLES)


@EVERY
@given(shape=shapes, seed=seeds)
@example(shape=(1, 1, 1, 1), seed=0)
@example(shape=(4, 8, 8, 6), seed=0)
@example(shape=(2, 20, 3, 1), seed=0)
@settings(max_examples=20)
def test_a_sample_has_the_shape_and_is_the_same_for_the_same_seed(key, shape, seed):
    x = SAMPLES[key].make(shape, seed)
    assert x.shape == shape
    assert x.dtype == np.float64
    assert np.isfinite(x).all()
    np.testing.assert_array_equal(x, SAMPLES[key].make(shape, seed))


@EVERY
def test_another_seed_is_another_sample(key):
    assert (SAMPLES[key].make((4, 8, 8, 3), 0) != SAMPLES[key].make((4, 8, 8, 3), 1)).any()


def test_samples_are_listed_by_their_own_key_with_a_name_and_a_description():
    assert all(key == sample.key and sample.name and sample.about for key, sample in SAMPLES.items())


def test_normal_noise_is_standard_normal():
    x = SAMPLES["normal"].make((4, 32, 32, 8), 0)
    assert abs(x.mean()) < 0.02
    assert abs(x.std() - 1) < 0.02


@pytest.mark.parametrize("seed", range(5))
def test_uneven_noise_is_really_uneven(seed):
    x = sample_uneven((8, 16, 16, 8), seed)
    for axis in (0, 3):  # examples and channels
        others = tuple(a for a in range(4) if a != axis)
        assert np.ptp(x.mean(axis=others)) > 0.5
        deviations = x.std(axis=(1, 2)).mean(axis=0 if axis == 3 else 1)
        assert deviations.max() / deviations.min() > 1.5


@given(shapes, seeds)
@settings(max_examples=20)
def test_digits_are_in_the_unit_interval(shape, seed):
    x = sample_digits(shape, seed)
    assert x.min() >= 0
    assert x.max() <= 1


def test_digits_are_the_scanned_ones_each_in_one_colour():
    from sklearn.datasets import load_digits

    scanned = {image.tobytes() for image in load_digits().images / 16}
    grey = sample_digits((5, 8, 8, 1), 0)
    assert all(image.tobytes() in scanned for image in grey[..., 0])
    coloured = sample_digits((5, 8, 8, 3), 0)
    tint = coloured.sum(axis=(1, 2)) / grey.sum(axis=(1, 2))
    np.testing.assert_allclose(coloured, grey * tint[:, None, None], atol=1e-15)
    assert len(np.unique(tint)) == tint.size


def test_feature_maps_are_a_convolution_with_zero_padding():
    shape, seed = (2, 8, 8, 3), 4
    rng = np.random.default_rng(seed)
    images = np.pad(_sample_digit_images(2, 8, 8, rng), ((0, 0), (1, 1), (1, 1)))
    filters = rng.spawn(1)[0].normal(0, (2 / 9) ** 0.5, (3, 3, 3))
    expected = np.zeros(shape)
    for n, h, w, c in np.ndindex(*shape):
        expected[n, h, w, c] = np.sum(images[n, h : h + 3, w : w + 3] * filters[:, :, c])
    np.testing.assert_allclose(sample_digit_features(shape, seed), expected, atol=1e-14)


@pytest.mark.parametrize("key", SAMPLES)
@pytest.mark.parametrize("seed", [0, 7])
def test_a_larger_batch_keeps_the_examples_of_a_smaller_one(key, seed):
    larger = SAMPLES[key].make((9, 8, 5, 3), seed)
    for examples in (1, 2, 4, 8):
        np.testing.assert_array_equal(SAMPLES[key].make((examples, 8, 5, 3), seed), larger[:examples])
