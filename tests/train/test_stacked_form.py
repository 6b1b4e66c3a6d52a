"""Statistics of many schemes computed at once are those computed one by one."""

import numpy as np
import pytest
import torch

from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.design.training import list_training_jobs
from normviz.topics.table1.forward import measure_forward_gaps
from normviz.train import twins
from normviz.train.setting import Setting
from normviz.train.stack import StackNormalizer, find_stackable_positions


def list_schemes(layer):
    """Return schemes of the general form, and every registered one between them."""
    searched = [row.scheme for job in list_training_jobs(layer, sample=2) for row in job.rows]
    return [*searched[::2], *(get_scheme(key, groups=2) for key in SCHEMES), *searched[1::2]]


@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("eps", [0.0, 1e-2])
def test_both_passes_are_those_of_each_scheme(layer, eps):
    schemes, shape = [scheme.activation_part for scheme in list_schemes(layer)], Setting(layer=layer, batch=8).shapes[0]
    generator = torch.Generator().manual_seed(0)
    x, g = torch.randn(2, len(schemes), 2, *shape, dtype=torch.float64, generator=generator)
    alone = StackNormalizer(schemes, shape, x.dtype, eps, x)
    together = StackNormalizer(schemes, shape, x.dtype, eps, x, find_stackable_positions(schemes, shape, 2))
    assert len(together.parts) < 12 < len(alone.parts)
    for run in ("forward", "backward"):
        wanted, found = (
            getattr(normalizer, run)((x if run == "forward" else g).clone()) for normalizer in (alone, together)
        )
        assert torch.allclose(found, wanted, rtol=1e-12, atol=1e-12 * wanted.abs().max())


def test_windows_and_scaled_schemes_stay_alone():
    schemes, shape = [*SCHEMES.values()] * 2, (8, 4, 4, 8)
    left = {scheme.key for k, scheme in enumerate(schemes) if k not in find_stackable_positions(schemes, shape, 2)}
    assert {"divisive", "whitening", "spectral", "dynamic-tanh", "none"} <= left
    assert not {"batch", "layer", "instance", "group", "rms"} & left
    assert find_stackable_positions(schemes, (256, 4, 4, 8), 2) == []
    assert find_stackable_positions([SCHEMES["batch"]] * 7, shape, 7) == []


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_gaps_of_outputs_are_those_of_the_reference(layer):
    schemes, setting = list_schemes(layer), Setting(layer=layer, batch=8, width=6, device="cpu")
    found, wanted = twins.measure_output_gaps(schemes, setting), measure_forward_gaps(schemes, setting)
    assert np.allclose(found, wanted, rtol=1e-9, atol=1e-12)
