"""A GPU that fails where a test says so, on a machine without one: its tensors are those of the CPU."""

import torch
from emulation import emulate_graphs

from normviz.jobs import fallback, gpu
from normviz.train import compiled, cost, devices, learning, step_functions, twins

FAULT = "CUDA error: an illegal memory access was encountered\nCompile with TORCH_USE_CUDA_DSA."


class FakeGpu:
    """Stands in for torch's CUDA device; every opening of a device is noted.

    Attributes:
        opened: the names of the devices that were opened, in their order.
    """

    def __init__(self, patch):
        self.patch, self.opened = patch, []
        emulate_graphs(patch)
        patch.setattr(
            twins,
            "make_eager_step",
            lambda *block: (step_functions.make_graph_step if self.on_gpu else step_functions.make_eager_step)(*block),
        )
        patch.setattr(torch.cuda, "is_available", lambda: True)
        patch.setattr(compiled, "get_kernels", lambda: None)  # what trains in torch opens a device
        patch.setattr(gpu, "get_gpu_memory", lambda: 2**33)
        patch.setattr(devices, "open_device", self.open)
        patch.setattr(devices, "measure_budget", self.budget)
        patch.setattr(fallback, "GPU_FAILURES", fallback.GpuFailures())

    def open(self, name, dtype="float32"):
        self.opened.append(devices.resolve_device(name, dtype))
        return torch.device("cpu")

    def budget(self, device):
        return cost.CPU_BUDGET if self.opened[-1] == "cpu" else cost.compute_gpu_budget(2**33, 1e11)

    @property
    def on_gpu(self):
        return self.opened[-1:] == ["cuda"]

    def fail_at(self, place, error=None):
        """Let it fail at its start, in a capture, or in the middle of a training; `error`: what is raised."""
        getattr(self, f"_fail_{place}")(error or RuntimeError(FAULT))

    def _fail_start(self, error):
        opened = self.open

        def fails(name, dtype="float32"):
            device = opened(name, dtype)
            if self.on_gpu:
                raise error
            return device

        self.patch.setattr(devices, "open_device", fails)

    def _fail_capture(self, error):
        def fails(capturing, step):
            raise error

        self.patch.setattr(step_functions, "_capture_step", fails)

    def _fail_middle(self, error):
        for owner, name in ((step_functions, "replay_graph"), (learning.Trainer, "step")):
            self.patch.setattr(owner, name, self._failing(getattr(owner, name), error))

    def _failing(self, real, error):
        calls = []

        def fails(*given):
            calls.append(None)
            if self.on_gpu and len(calls) > 2:
                raise error
            return real(*given)

        return fails
