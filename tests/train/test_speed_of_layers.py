"""What is timed computes the same, whichever way."""

import numpy as np
import pytest
import torch

from normviz.core.errors import InvalidInput
from normviz.core.normalize import normalize
from normviz.core.registry import get_scheme
from normviz.train.layer_timing import CHANNELS_LAST, LayerBenchmark, normalize_with_torch

SHAPE = (3, 4, 5, 8)
KEYS = ("batch", "layer", "layer-channels", "layer-spatial", "instance", "group", "rms")


def race(*keys):
    return LayerBenchmark([get_scheme(key, 2) for key in keys], SHAPE, 1e-5, 0, torch.device("cpu"))


def channels_last(each, key):
    """A tensor of PyTorch's layer in the order (…, H, W, C) of the general form's."""
    return each if key in CHANNELS_LAST or each.ndim == 1 else each.movedim(-3, -1)


@pytest.mark.parametrize("key", KEYS)
def test_torchs_layer_and_the_general_form_agree_forward_and_backward(key):
    (theirs,), (ours,) = race(key).timed
    weights = torch.randn(SHAPE, generator=torch.Generator().manual_seed(0))
    ours.gradient = weights
    theirs.gradient = weights if key in CHANNELS_LAST else weights.movedim(-1, -3)
    close = {"rtol": 1e-4, "atol": 1e-5}
    torch.testing.assert_close(channels_last(theirs.forward(), key), ours.forward(), **close)
    found, wanted = theirs.run_both_passes(), ours.run_both_passes()
    assert len(found) == len(wanted) == (2 if key == "rms" else 3)
    for one, other in zip(found, wanted, strict=True):
        torch.testing.assert_close(channels_last(one, key).squeeze(), other.squeeze(), **close)


@pytest.mark.parametrize("key", KEYS)
def test_torchs_layer_on_numpys_arrays_gives_what_the_general_form_does(key):
    scheme, x = get_scheme(key, 4), np.random.default_rng(0).standard_normal(SHAPE)
    np.testing.assert_allclose(
        normalize_with_torch(x, scheme, 1e-3), normalize(x, scheme, 1e-3).xhat, rtol=1e-12, atol=1e-12
    )


def test_a_layer_that_torch_has_not_is_refused():
    with pytest.raises(InvalidInput, match="divisive"):
        normalize_with_torch(np.ones(SHAPE), get_scheme("divisive"), 1e-3)


def test_a_round_times_everything_once_and_says_where_torch_has_no_layer():
    timed = race("rms", "divisive", "whitening")
    copied, times = timed.time_layers(2)
    assert copied > 0
    assert times.shape == (2, 3, 2)
    assert np.isnan(times[0, 1:]).all()
    assert (times[0, 0] > 0).all()
    assert (times[1] > 0).all()
    assert timed.operations[0].tolist()[1:] == [0, 0]


def test_of_a_round_the_shortest_times_are_kept(monkeypatch):
    seconds = iter([9.0, 1.0, 2.0, 3.0, 4.0, 8.0, 0.5, 0.6, 0.7, 0.8])  # a copy, then four passes, forwards; backwards
    timed = race("divisive", "whitening")
    monkeypatch.setattr(timed, "_measure_seconds", lambda call: next(seconds))
    copied, times = timed.time_layers(2)
    assert copied == 8
    assert times[1, :, 0].tolist() == [0.8, 0.7]
    assert times[1, :, 1].tolist() == [0.6, 0.5]


def test_operations_are_those_that_compute():
    timed = race("layer-channels", "rms")
    assert timed.operations[0, 0] == 1
    assert (timed.operations[1] > 1).all()
    assert timed.operations[1, 0] > timed.operations[1, 1]  # RMS norm does not centre
