"""A CUDA graph on the CPU: the operations of one run, recorded with the tensors that they read and write, and replayed.

As in a graph, whatever the host decides during the run is fixed from then on: numbers, shapes, branches, and tensors
that are made of the host's own data. Only the contents of the recorded tensors change from one replay to the next.
"""

from unittest.mock import MagicMock

import torch
from torch._C import DispatchKey
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

WAITS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
"""Tags of operations that wait for the device, which ends a capture."""

INDEXING = {"aten::index", "aten::index_put", "aten::index_put_", "aten::_index_put_impl_"}
"""Operations that wait only where an index is a mask, whose true elements have to be counted."""


def waits(function, arguments):
    """Whether an operation fetches a number or a shape from the device."""
    if function.name().partition(".")[0] in INDEXING:
        return any(isinstance(leaf, torch.Tensor) and leaf.dtype == torch.bool for leaf in tree_leaves(arguments[1]))
    return bool(WAITS & {*function.tags})


def storages(values):
    """The storages of all tensors in nested values."""
    return {leaf.untyped_storage()._cdata for leaf in tree_leaves(values) if isinstance(leaf, torch.Tensor)}


class Recording(TorchDispatchMode):
    """Records every operation while it is entered; `replay` runs them again on the same tensors.

    An operation that writes into its arguments is run again as it is. Of any other one the new result is copied into
    the tensor that it gave first, where later operations read it. A view needs nothing: it shares its storage.
    """

    def __init__(self):
        super().__init__()
        self.operations = []

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        if function.has_kernel_for_dispatch_key(DispatchKey.CompositeImplicitAutograd):
            with self:  # such as `is_nonzero`: what it consists of says whether it waits
                return function.decompose(*args, **kwargs)
        if waits(function, args):
            raise RuntimeError(f"operation not permitted when stream is capturing: {function}")
        out = function(*args, **kwargs)
        given = storages((args, kwargs))
        fresh = [storages(leaf).isdisjoint(given) for leaf in tree_leaves(out)]
        if any(fresh) or function._schema.is_mutable:
            self.operations.append((function, args, kwargs, out, fresh))
        return out

    def replay(self):
        """Run what was recorded once more."""
        with torch.inference_mode():
            for function, args, kwargs, out, fresh in self.operations:
                again = function(*args, **kwargs)
                for first, new, is_fresh in zip(tree_leaves(out), tree_leaves(again), fresh, strict=True):
                    if is_fresh and isinstance(first, torch.Tensor):
                        first.copy_(new)


class Capturing:
    """`torch.cuda.graph`: enters the recording that stands for the graph."""

    capture_stream = MagicMock()

    def __init__(self, captured, capture_error_mode="global"):
        self.captured = captured

    def __enter__(self):
        self.captured.__enter__()

    def __exit__(self, *error):
        self.captured.__exit__(*error)
