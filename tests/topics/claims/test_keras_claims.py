"""What the claim on RMS norm in Keras says, beside the layers of Keras themselves."""

import os

os.environ["KERAS_BACKEND"] = "torch"  # before keras is imported

import keras
import numpy as np
import pytest

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.data.samples import sample_uneven
from normviz.topics.claims.checks.tensors import DENSE_SHAPE
from normviz.topics.claims.checks.weights import check_keras_rms_norm, divide_by_deviation
from normviz.topics.claims.claim_list import CLAIMS

EPS = 1e-3


def outputs_of(layer):
    return keras.ops.convert_to_numpy(layer(sample_uneven(DENSE_SHAPE, 0).astype("float32"))).astype(float)


@pytest.fixture(scope="module")
def rms_scaled():
    with pytest.warns(UserWarning, match="scales the input by the variance"):
        return outputs_of(keras.layers.LayerNormalization(rms_scaling=True, epsilon=EPS))


def test_rms_scaling_divides_by_the_deviation(rms_scaled):
    np.testing.assert_allclose(
        rms_scaled, divide_by_deviation(sample_uneven(DENSE_SHAPE, 0), EPS), rtol=1e-4, atol=1e-5
    )


def test_rms_scaling_is_not_rms_norm_and_the_newer_layer_is(rms_scaled):
    ours = normalize(sample_uneven(DENSE_SHAPE, 0), SCHEMES["rms"], EPS).xhat
    np.testing.assert_allclose(outputs_of(keras.layers.RMSNormalization(epsilon=EPS)), ours, rtol=1e-4, atol=1e-5)
    assert np.abs(rms_scaled - ours).max() > 0.01 * np.abs(ours).max()  # far from rounding


def test_the_record_names_what_the_option_divides_by():
    claim = CLAIMS["R04"]
    assert "not RMS norm" in claim.condition
    trial = next(trial for trial in check_keras_rms_norm(0) if "rms_scaling" in trial.what)
    assert trial.fact
    assert trial.holds
    assert min(trial.values) > 0.1
