"""Input and output from uploaded files, without running code from them or unpacking more than a bound."""

import numpy as np

from normviz.core.errors import InvalidInput
from normviz.data.files import check_upload_size, read_npy, read_npz
from normviz.topics.same.detection.detector import check_detector_arrays

SAVING_SNIPPET = """import numpy as np
y = layer(x)
np.savez("arrays.npz", x=x, y=y)  # PyTorch: x=x.detach().numpy(), and so y"""
"""Code that saves a layer's input and output."""

MAX_ELEMENTS = 2**20
"""Most elements of an uploaded array: the detector takes seconds."""

ArrayPair = dict[str, np.ndarray]


def read_pair(files: list[tuple[str, bytes]]) -> ArrayPair:
    """Read x and y from uploaded files, (name, content) each: one .npz of two arrays, or two .npy.

    If the names are not x and y, the first is x: as written in a .npz, alphabetically for files.

    Raises:
        InvalidInput: other files, files too large or in another format than their ending, or arrays that cannot be an
            input and its output.
    """
    for name, content in files:
        check_upload_size(name, content)
    endings = sorted(name.lower().rpartition(".")[2] for name, _ in files)
    if endings == ["npz"]:
        found = read_npz(files[0][1])
        if len(found) != 2:
            raise InvalidInput(f"{files[0][0][:60]} holds {len(found)} arrays; x and y are needed.")
    elif endings == ["npy", "npy"]:
        found = {name: read_npy(content) for name, content in sorted(files)}
        if len(found) != 2:
            raise InvalidInput("both files have one name; call them x.npy and y.npy.")
    else:
        raise InvalidInput("one .npz file with x and y, or two .npy files, are needed.")
    first, second = found
    if "y" in (first.lower(), first.rpartition(".")[0].lower()):
        first, second = second, first
    pair = {"x": found[first], "y": found[second]}
    check_detector_arrays(pair["x"], pair["y"])
    for name, array in pair.items():
        if array.size > MAX_ELEMENTS:
            raise InvalidInput(f"{name} has {array.size:,} elements; up to {MAX_ELEMENTS:,} are looked at here.")
        if not 2 <= array.ndim <= 5:
            raise InvalidInput(f"{name} has {array.ndim} axes; arrays of two to five are looked at here.")
    return pair
