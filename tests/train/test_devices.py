"""Devices that train: their arithmetic, their names, and how much one training may take of them."""

import pytest
import torch

from normviz.core.errors import InvalidInput
from normviz.core.registry import SCHEMES
from normviz.train import cost, devices, twins
from normviz.train.learning import open_float32_device
from normviz.train.setting import Setting


@pytest.fixture
def rounded():
    """Torch as NVIDIA's containers and cuDNN's defaults set it: factors of float32 rounded to ten bits."""
    precisions = {place: getattr(*place).fp32_precision for place in devices.EXACT_OPERATIONS}
    torch.set_float32_matmul_precision("high")
    torch.backends.cudnn.allow_tf32 = True
    yield
    torch.set_float32_matmul_precision("highest")
    for place, precision in precisions.items():
        getattr(*place).fp32_precision = precision


def is_exact():
    new = {getattr(*place).fp32_precision for place in devices.EXACT_OPERATIONS}
    older = (torch.get_float32_matmul_precision(), torch.backends.cuda.matmul.allow_tf32)
    return new == {"ieee"} and older == ("highest", False) and torch.backends.cudnn.allow_tf32 is False


SMALL = Setting(steps=2, batch=4, width=4, device="cpu")


@pytest.mark.parametrize(
    "train",
    [
        lambda: next(twins.train_stepwise([SCHEMES["batch"]], SMALL)),
        lambda: next(twins.iterate_failures([SCHEMES["batch"]], SMALL, [0])),
        lambda: open_float32_device("cpu"),
    ],
    ids=["training", "diagnosis", "experiments"],
)
def test_all_that_trains_has_exact_products_and_convolutions(train, rounded):
    assert not is_exact()
    train()
    assert is_exact()


def test_exact_arithmetic_is_also_that_of_who_uses_torchs_newer_names(rounded):
    for place in devices.EXACT_OPERATIONS:
        getattr(*place).fp32_precision = "tf32"
    devices.force_exact_arithmetic()
    devices.force_exact_arithmetic()
    assert is_exact()


def test_a_device_that_is_not_there(monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(InvalidInput, match="there is no cuda device here; auto or cpu would do"):
        devices.open_device("cuda")
    with pytest.raises(InvalidInput, match="MPS has no float64"):
        devices.open_device("mps", "float64")
    assert devices.resolve_device("auto", "float64") == "cpu"


def test_a_gpus_budget_is_a_share_of_what_is_free_and_of_what_this_process_does_not_use(monkeypatch):
    monkeypatch.setattr(torch.cuda, "mem_get_info", lambda device: (6 * 2**30, 80 * 2**30))
    monkeypatch.setattr(torch.cuda, "memory_reserved", lambda device: 3 * 2**30)
    monkeypatch.setattr(torch.cuda, "memory_allocated", lambda device: 2**30)
    monkeypatch.setattr(devices, "_measure_bandwidth", lambda device: 1e12)
    assert devices.measure_budget(torch.device("cuda")) == cost.compute_gpu_budget(8 * 2**30, 1e12)
    assert devices.measure_budget(torch.device("cpu")) == cost.CPU_BUDGET
