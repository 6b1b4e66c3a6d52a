"""The compiled kernels train as torch does: equal losses, equal verdicts in Table 1, and torch where they cannot."""

import sys
from collections import deque
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from browsing import ROOT

from normviz.core.registry import SCHEMES, get_scheme
from normviz.train import compiled, twins
from normviz.train.problem import NETWORKS
from normviz.train.setting import Setting

sys.path.insert(0, str(ROOT / "benchmarks"))
import search

ALL_NETWORKS = range(len(NETWORKS))


@pytest.fixture(scope="module")
def kernels():
    """The kernels, for the tests of this file alone; all other tests train with torch."""
    loaded = compiled.load_kernels()
    compiled._loaded.clear()
    assert loaded is not None
    return loaded


@pytest.fixture
def use_kernels(kernels, monkeypatch):
    """A function that makes trainings from now on use the kernels, or torch."""
    return lambda use: monkeypatch.setattr(compiled, "_loaded", [kernels] if use else [])


def train(schemes, setting, networks=ALL_NETWORKS):
    """Return all losses."""
    (losses,) = deque(twins.train_stepwise(schemes, setting, networks), maxlen=1)
    return losses.numpy()


def make_setting(layer="dense", optimizer="sgd", **others):
    sizes = {"steps": 6, "batch": 8, "width": 6, "device": "cpu"} | others
    return Setting(layer, optimizer=optimizer, **sizes)


@pytest.mark.parametrize(
    ("layer", "optimizer", "depth"), list(product(["dense", "conv"], ["sgd", "momentum", "adam"], [1, 3]))
)
def test_losses_are_those_of_torch(use_kernels, layer, optimizer, depth):
    setting = make_setting(layer, optimizer, depth=depth, eps=1e-3, rate=0.01)
    schemes = [scheme for scheme in SCHEMES.values() if search.fits(scheme, setting)]
    use_kernels(False)
    expected = train(schemes, setting)
    use_kernels(True)
    losses = train(schemes, setting)
    assert np.isfinite(expected).all()
    assert np.abs(losses - expected).max() <= 1e-12 * expected.max()
    assert sum(compiled.can_train(scheme, setting) for scheme in schemes) >= len(schemes) - 3


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_losses_in_float32_are_those_of_torch(use_kernels, layer):
    setting = make_setting(layer, dtype="float32", depth=2, eps=1e-3, rate=0.01)
    schemes = [scheme for scheme in SCHEMES.values() if compiled.can_train(scheme, setting)]
    use_kernels(False)
    expected = train(schemes, setting)
    use_kernels(True)
    losses = train(schemes, setting)
    gaps = np.abs(losses - expected).max((0, 2)) / expected.max()
    assert gaps.max() <= 1e-4, dict(zip([scheme.key for scheme in schemes], gaps, strict=True))
    assert np.median(gaps) > 1e-9  # no float64


def test_a_run_compiles_nothing(use_kernels, kernels):
    use_kernels(True)
    for optimizer, dtype in product(("sgd", "adam"), compiled.DTYPES):
        train([SCHEMES["layer-weight"]], make_setting("conv", optimizer, steps=1, dtype=dtype), [0, 3])
    assert len(kernels.train_network.signatures) == len(compiled.DTYPES)


@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_verdicts_at_the_defaults_are_those_of_torch(use_kernels, layer):
    setting, verdicts = Setting(layer, steps=20, device="cpu"), []
    schemes = [scheme for scheme in SCHEMES.values() if compiled.can_train(scheme, setting)]
    for use in (True, False):
        use_kernels(use)
        verdicts.append([cell.trained for _, row in search.searched(schemes, setting, True) for cell in row])
    assert verdicts[0] == verdicts[1]


@pytest.mark.parametrize(("dtype", "one_sided"), [("float64", 0.01), ("float32", 0.03)])
@pytest.mark.parametrize("count", [300, pytest.param(10_000, marks=pytest.mark.heavy)])
def test_verdicts_of_random_cells_never_contradict_those_of_torch(use_kernels, count, dtype, one_sided):
    """One of two engines may have no answer, as rounding differs and a gap is near a threshold."""
    rng, pairs = np.random.default_rng(count), []
    while len(pairs) < count:
        setting = replace(search.draw_setting(rng), dtype=dtype)
        schemes = [scheme for scheme in search.draw_schemes(rng, setting) if compiled.can_train(scheme, setting)]
        verdicts = []
        for use in (True, False):
            use_kernels(use)
            verdicts.append([cell.trained for _, row in search.searched(schemes, setting, True) for cell in row])
        pairs += zip(*verdicts, strict=True)
    assert not [pair for pair in pairs if None not in pair and pair[0] != pair[1]]
    assert sum(pair[0] != pair[1] for pair in pairs) <= one_sided * len(pairs)


def test_the_losses_of_a_diverging_network_end_at_the_same_step(use_kernels):
    setting = make_setting("dense", rate=1e9, steps=8)
    use_kernels(False)
    expected = train([SCHEMES["none"]], setting, [0])
    use_kernels(True)
    assert not np.isfinite(expected).all()
    assert (np.isfinite(train([SCHEMES["none"]], setting, [0])) == np.isfinite(expected)).all()


@pytest.mark.parametrize("threads", [1, 2])
def test_every_step_is_yielded_in_turn(use_kernels, threads, monkeypatch):
    monkeypatch.setattr(compiled.torch, "get_num_threads", lambda: threads)
    use_kernels(True)
    setting, schemes = make_setting("dense", steps=40), [SCHEMES["batch"], SCHEMES["spectral"]]
    counts = []
    for losses in twins.train_stepwise(schemes, setting, [0, 1]):
        assert np.isfinite(losses.numpy()).all()
        counts.append(len(losses))
    assert sorted(set(counts)) == [*range(41)]
    assert counts == sorted(counts)


@pytest.mark.parametrize(
    ("scheme", "others"),
    [("whitening", {}), ("spectral", {}), ("divisive", {"layer": "conv"}), ("batch", {"dtype": "float16"})],
)
def test_torch_trains_what_the_kernels_cannot(use_kernels, scheme, others, monkeypatch):
    use_kernels(True)
    monkeypatch.setattr(compiled, "CompiledTraining", None)
    setting = make_setting(**others)
    assert not compiled.can_train(get_scheme(scheme), setting)
    assert np.isfinite(train([get_scheme(scheme)], setting, [0])).all()


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_schemes_of_torch_train_beside_those_of_the_kernels(use_kernels, dtype):
    use_kernels(True)
    setting, schemes = make_setting(dtype=dtype), [get_scheme("whitening"), get_scheme("batch")]
    each = np.concatenate([train([scheme], setting) for scheme in schemes], axis=1)
    np.testing.assert_allclose(train(schemes, setting), each, rtol=1e-5 if dtype == "float32" else 1e-12)


def test_without_numba_torch_trains(monkeypatch):
    monkeypatch.setattr(compiled, "_loaded", [])
    monkeypatch.setitem(sys.modules, "numba", None)
    assert compiled.load_kernels() is None
    assert compiled.get_kernels() is None
    assert np.isfinite(train([SCHEMES["batch"]], make_setting("dense"), [0])).all()
