"""What tests ask of a training that ran again: the last bit on one thread of a CPU, else no more than rounding."""

import numpy as np
import pytest
import repeated
from repeated import assert_repeated

ONE = {"losses": np.array([1.0, 2.0, np.nan]), "measured": np.array([1, 2]), "device": np.array("CPU")}


@pytest.mark.parametrize(("threads", "relative"), [(1, 0.0), (8, 1e-6)])
def test_rounding_is_allowed_where_several_threads_add(threads, relative, monkeypatch):
    monkeypatch.setattr(repeated.torch, "get_num_threads", lambda: threads)
    monkeypatch.setattr(repeated.torch.cuda, "is_available", lambda: False)
    assert_repeated(ONE, ONE | {"losses": ONE["losses"] * (1 + relative)})
    for change in ({"losses": ONE["losses"] * 1.1}, {"measured": np.array([1, 3])}, {"losses": np.ones(3)}):
        with pytest.raises(AssertionError):
            assert_repeated(ONE, ONE | change)
    if not relative:
        with pytest.raises(AssertionError):
            assert_repeated(ONE, ONE | {"losses": ONE["losses"] * (1 + 1e-15)})
