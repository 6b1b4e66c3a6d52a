"""An input and its output from files."""

import io
import pickle

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.data.files import MAX_UPLOAD_BYTES
from normviz.topics.same.detection.uploads import SAVING_SNIPPET, read_pair

X, Y = np.arange(6.0).reshape(2, 3), np.ones((2, 3))


def npy(array, allow_pickle=False):
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


def npz(*arrays, **named):
    stream = io.BytesIO()
    np.savez(stream, *arrays, **named)
    return stream.getvalue()


PAIRS = {
    "npz": [("arrays.npz", npz(x=X, y=Y))],
    "npz, y first": [("arrays.npz", npz(y=Y, x=X))],
    "npz without names": [("arrays.npz", npz(X, Y))],
    "npz with other names": [("arrays.npz", npz(given=X, out=Y))],
    "npy": [("x.npy", npy(X)), ("y.npy", npy(Y))],
    "npy, y first": [("y.npy", npy(Y)), ("x.npy", npy(X))],
    "npy with other names": [("b.npy", npy(Y)), ("a.npy", npy(X))],
    "y and a later name": [("y.npy", npy(Y)), ("z.npy", npy(X))],
    "capitals": [("X.NPY", npy(X)), ("Y.NPY", npy(Y))],
}


@pytest.mark.parametrize("name", PAIRS)
def test_pairs(name):
    pair = read_pair(PAIRS[name])
    np.testing.assert_array_equal(pair["x"], X)
    np.testing.assert_array_equal(pair["y"], Y)


class Trap:
    def __reduce__(self):
        return pytest.fail, ("it was unpickled",)


REFUSED = {
    "one npy": ([("x.npy", npy(X))], "two .npy"),
    "nothing": ([], "two .npy"),
    "another kind": ([("x.txt", b"1")], "two .npy"),
    "three": ([("a.npy", npy(X))] * 3, "two .npy"),
    "one name": ([("x.npy", npy(X))] * 2, "one name"),
    "one array": ([("a.npz", npz(x=X))], "holds 1 arrays"),
    "three arrays": ([("a.npz", npz(x=X, y=Y, z=Y))], "holds 3 arrays"),
    "no npz": ([("a.npz", b"nothing")], "not a .npz file"),
    "no npy": ([("x.npy", b"nothing"), ("y.npy", npy(Y))], "not a .npy file"),
    "a pickle": ([("a.npz", pickle.dumps(Trap()))], "not a .npz file"),
    "a pickle in an array": ([("x.npy", npy(np.array([Trap()]), True)), ("y.npy", npy(Y))], "object"),
    "objects": ([("a.npz", npz(x=np.array([Trap()], dtype=object), y=Y))], "object"),
    "too large": ([("a.npz", b"0" * (MAX_UPLOAD_BYTES + 1))], "files up to 5 MB are read"),
    "shapes": ([("a.npz", npz(x=X, y=Y.T))], "into one layout"),
    "NaN": ([("a.npz", npz(x=X * np.nan, y=Y))], "NaN"),
    "text": ([("a.npz", npz(x=np.array(["a"]), y=Y))], "real numbers"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_no_pair_is_refused(name):
    files, words = REFUSED[name]
    with pytest.raises(InvalidInput, match=words):
        read_pair(files)


def test_the_lines_that_save_ones_own_arrays_save_what_is_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    exec(SAVING_SNIPPET, {"x": X, "layer": lambda x: x + 1})
    pair = read_pair([("arrays.npz", (tmp_path / "arrays.npz").read_bytes())])
    np.testing.assert_array_equal(pair["y"], X + 1)
