"""Files that `normviz.record` writes for the page "Your model": a report, and activations that enter its layers."""

import io
import json
from collections.abc import Mapping
from typing import Any, NamedTuple, NoReturn

import numpy as np

from normviz.core.errors import InvalidInput, rephrase_errors
from normviz.data.bounds import MAX_LAYERS, MAX_REPORT_BYTES
from normviz.data.files import check_upload_size, read_npz

REPORT_NAME = "report"
"""Name of the array with the report: the bytes of its JSON in UTF-8."""

PARTS = ("x", "gain", "bias", "statistics")
"""Names of the arrays of a layer, each followed by a point and the layer's name."""


MAX_CHANNELS = 4096
"""Most channels of a layer whose statistics are read."""


class RecordedLayer(NamedTuple):
    """Sampled activations that enter a layer, with the layer's γ and β and the statistics of its channels.

    Attributes:
        x: the activations.
        gain, bias: γ and β, which broadcast against x.
        statistics: of a layer with running averages, (6, channels): the mean and the variance in the batch, as
            running averages, and as running averages after a forward pass in training (absent in older files).
    """

    x: np.ndarray
    gain: np.ndarray | None = None
    bias: np.ndarray | None = None
    statistics: np.ndarray | None = None


class ModelFile(NamedTuple):
    """Content of a user's file: a report as `json.loads` returns it, and recorded layers by their names."""

    report: Any
    layers: dict[str, RecordedLayer]


def encode_recording(report: Mapping[str, Any], layers: Mapping[str, RecordedLayer]) -> bytes:
    """Encode a report and the activations of its layers as the bytes of an .npz file."""
    text = json.dumps(report, ensure_ascii=False, allow_nan=False).encode()
    arrays = {REPORT_NAME: np.frombuffer(text, np.uint8)}
    for name, layer in layers.items():
        values = zip(PARTS, layer, strict=True)
        arrays |= {f"{part}.{name}": np.asarray(each, np.float32) for part, each in values if each is not None}
    content = io.BytesIO()
    np.savez_compressed(content, allow_pickle=False, **arrays)
    return content.getvalue()


def read_model_file(name: str, content: bytes) -> ModelFile:
    """Read the report and the recorded arrays of a model's .json or .npz file, without checking the report.

    Raises InvalidInput for a file that is too large, not what its name says, or without a report.
    """
    check_upload_size(name, content)
    suffix = name.lower().rpartition(".")[2]
    if suffix == "json":
        return ModelFile(parse_json(content), {})
    if suffix != "npz":
        raise InvalidInput(f"{name[:60]} is not a .json or .npz file; `normviz record` writes one.")
    arrays = read_npz(content, 1 + len(PARTS) * MAX_LAYERS)
    report = arrays.pop(REPORT_NAME, None)
    if report is None or report.dtype != np.uint8 or report.ndim != 1:
        raise InvalidInput(f"{name[:60]} holds no report of a model; `normviz record` writes one with it.")
    return ModelFile(parse_json(report.tobytes()), _group_arrays_by_layer(arrays))


def parse_json(content: bytes) -> Any:
    """Parse UTF-8 bytes of JSON and return the value.

    Raises InvalidInput for too many bytes, no JSON, NaN or infinite numbers, or values nested too deeply.
    """
    if len(content) > MAX_REPORT_BYTES:
        size = f"{len(content) / 2**20:.1f} MB"
        raise InvalidInput(f"the report has {size}; reports up to {MAX_REPORT_BYTES // 2**20} MB are read.")
    with rephrase_errors("this is not JSON; save a report with json.dump(report.to_json(), file)."):
        return json.loads(content.decode("utf-8-sig"), parse_constant=_refuse_constant)


def _refuse_constant(text: str) -> NoReturn:
    raise InvalidInput(f"the report holds {text}, which JSON has no number for; null is used there.")


def _group_arrays_by_layer(arrays: Mapping[str, np.ndarray]) -> dict[str, RecordedLayer]:
    """Group the arrays of a file by layer. Raises InvalidInput if an array's name, dtype or shape is not valid."""
    layers = {}
    for key, x in arrays.items():
        part, _, name = key.partition(".")
        if part not in PARTS or not name:
            raise InvalidInput(f"the file holds an array {key[:60]!r}, which `normviz record` does not write.")
        if x.dtype != np.float32 or not 1 <= x.ndim <= 8 or not x.size:
            raise InvalidInput(f"the array {key[:60]!r} is not one of float32 numbers with one to eight axes.")
        if part == PARTS[0]:
            layers[name] = RecordedLayer(x, *(arrays.get(f"{each}.{name}") for each in PARTS[1:]))
    for name, layer in layers.items():
        if not all(each is None or _can_broadcast(each, layer.x) for each in (layer.gain, layer.bias)):
            raise InvalidInput(f"γ or β of {name[:60]!r} does not fit its activations.")
        rows = layer.statistics
        if rows is not None and (rows.ndim != 2 or len(rows) not in (4, 6) or rows.shape[1] > MAX_CHANNELS):
            most = f"up to {MAX_CHANNELS:,} channels"
            raise InvalidInput(f"the statistics of {name[:60]!r} are not four or six rows of {most}.")
    return layers


def _can_broadcast(parameter: np.ndarray, x: np.ndarray) -> bool:
    """Return True if a parameter has as many axes as x, each with the length of x's axis or 1."""
    lengths = zip(parameter.shape, x.shape, strict=False)
    return parameter.ndim == x.ndim and all(n in (1, there) for n, there in lengths)
