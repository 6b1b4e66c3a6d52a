"""Whether a training that ran again gave the same."""

import numpy as np
import torch

ROUNDING = 1e-3
"""How far two runs may be apart whose sums were in another order, relative to the largest value."""


def is_bitwise():
    """Whether two runs here are the same to the last bit: where one thread of a CPU computes both."""
    return torch.get_num_threads() == 1 and not torch.cuda.is_available()


def assert_repeated(one, other):
    """Two results, mappings with arrays, are the same: to the last bit where the contract is that, or but for rounding.

    Several threads, and a GPU's atomic sums, may add in another order.
    """
    assert one.keys() == other.keys()
    for name, array in one.items():
        if is_bitwise() or array.dtype.kind not in "fc":
            np.testing.assert_array_equal(other[name], array, err_msg=name)
        else:
            finite = np.abs(array[np.isfinite(array)])
            allowed = ROUNDING * finite.max(initial=0.0)
            np.testing.assert_allclose(other[name], array, rtol=ROUNDING, atol=allowed, err_msg=name)
