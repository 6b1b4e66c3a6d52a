"""Inspection of a PyTorch model: find every normalization by probing, and report what it does."""

from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from normviz.core.errors import InvalidInput
from normviz.inspection.axes import AxisRoles, choose_channel_axis, find_axis_roles
from normviz.inspection.findings import iterate_findings
from normviz.inspection.folding import find_folding_obstacles
from normviz.inspection.frozen import find_constant_statistics
from normviz.inspection.influence import compare_first_rows, compute_output_matrix
from normviz.inspection.layers import LayerReport, build_layer_report, measure_relative_gap
from normviz.inspection.model_copy import (
    choose_thread_count,
    convert_batch,
    copy_model,
    extend_batch,
    find_batch_size,
    replace_examples,
    shorten_error,
    use_double_precision,
    use_threads,
)
from normviz.inspection.probing import Probe, probe_function
from normviz.inspection.recording import (
    ROOT_NAME,
    LayerCall,
    Recorder,
    list_modes,
    record_pass,
    run_in_inference,
    set_modes,
)
from normviz.inspection.report import ModelReport
from normviz.inspection.weights import inspect_weights


def inspect(model: nn.Module, batch: Any) -> ModelReport:
    """Find the normalizations of a PyTorch model by probing, and return a report on what each of them does.

    Works on a float64 copy on the CPU; the model, its modes, gradients and buffers, and the random state stay as they
    are. Names of classes play no part: the input of each small module and functional call is changed, and its output
    shows which elements share statistics.

    Args:
        model: a torch.nn.Module. In training mode, its modes are those of training; otherwise `train()` sets them.
        batch: what the model takes: a tensor, a tuple of arguments, or a dict of named ones, examples first.

    Returns:
        A report with `layers`, `model`, `findings` and `notes`; it has `to_json()`.

    Raises:
        InvalidInput: a model that cannot be copied or fails on the batch.

    >>> import torch, normviz
    >>> model = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.BatchNorm1d(8))
    >>> report = normviz.inspect(model, torch.randn(32, 4))
    >>> [(layer.name, layer.scheme, layer.training, layer.inference) for layer in report.layers]
    [('1', 'batch', 'batch', 'constant')]
    """
    return inspect_calls(model, batch).report


class InspectedModel(NamedTuple):
    """Report on a model, and the recorded calls in training and in inference, by their names."""

    report: ModelReport
    training: dict[str, LayerCall]
    inference: dict[str, LayerCall]


def inspect_calls(model: nn.Module, batch: Any) -> InspectedModel:
    """Inspect a model as `inspect` does; return the report together with the recorded calls."""
    copied, batch = copy_model(model), convert_batch(batch)
    notes = []
    if find_batch_size(batch) == 1:
        batch = extend_batch(batch)
        notes.append("The batch holds one example. Noise was added as a second one; pass more for measurements.")
    is_forced = not _runs_in_double_precision(copied, batch)
    with use_double_precision(is_forced), use_threads(choose_thread_count(lambda: run_in_inference(copied, batch))):
        inspection = _Inspection(copied, batch, notes)
        return InspectedModel(inspection.build_report(), inspection.training.layers, inspection.inference.layers)


def _runs_in_double_precision(model: nn.Module, batch: Any) -> bool:
    """Return False if the model fails with float64 because it casts to low-precision types by itself."""
    try:
        with use_double_precision(False):
            run_in_inference(model, batch)
    except InvalidInput as error:
        return "dtype" not in str(error)
    return True


class _Inspection:
    """Inspection of one model: its recorded forward passes in training and inference, and what probing them shows."""

    def __init__(self, model: nn.Module, batch: Any, notes: list[str]) -> None:
        self.model, self.batch, self.notes = model, batch, notes
        self.is_training, given = model.training, list_modes(model)
        model.eval()
        self.inference_modes = list_modes(model)
        model.train()
        self.thawed_modes = list_modes(model)
        self.training_modes = given if self.is_training else self.thawed_modes
        set_modes(model, self.inference_modes)
        self.inference, _ = record_pass(model, batch)
        set_modes(model, self.training_modes)
        try:
            self.training, _ = record_pass(model, batch)
        except InvalidInput as error:
            self.training = self.inference
            self.training_modes = self.inference_modes
            notes.append(f"Training mode was not inspected: {error}")

    def build_report(self) -> ModelReport:
        """Probe all recorded calls, and return the report on the model."""
        with use_threads(1):  # probes are small
            found = self._probe_calls()
        names = _drop_nested_calls(found, self.training)
        self.notes += _describe_untraced_calls(found, self.training)
        set_modes(self.model, self.inference_modes)
        shared = [name for name in names if name in self.inference.layers]
        self.roles = find_axis_roles(self.model, self.batch, self.inference, shared)
        layers = [self._build_layer(name, found[name]) for name in names]
        layers += inspect_weights(self.model, self.inference)
        numbers = self._measure_model([layer for layer in layers if layer.training == "batch" != layer.inference])
        findings = list(iterate_findings(layers, numbers["train_eval_gap_norm"], self._find_folding_obstacles(layers)))
        return ModelReport(layers, numbers, findings, self.notes)

    def _find_folding_obstacles(self, layers: list[LayerReport]) -> dict[str, str]:
        """Return for each batch norm what keeps it from being folded; {} for a model that came in training mode."""
        norms = [each.name for each in layers if each.scheme == "batch" and each.inference == "constant"]
        norms = [] if self.is_training else [name for name in norms if name in self.inference.layers]
        set_modes(self.model, self.inference_modes)
        return find_folding_obstacles(norms, self.inference, lambda: self._run(self.inference_modes))

    def _probe_calls(self) -> dict[str, tuple[Probe, Any]]:
        """Return by name what probing found on the calls that normalize: modules, and functions outside of them."""
        calls = self.training.layers
        found: dict[str, tuple[Probe, Any]] = {}
        for name in sorted(calls, key=lambda each: calls[each].module is None):
            is_known = calls[name].module is None and any(
                _is_inside(name, outer) for outer, (probe, _) in found.items() if probe.form != "unknown"
            )
            probe = None if is_known else self._probe_call(calls[name])
            if probe is not None:
                found[name] = probe
        return found

    def _probe_call(self, call: LayerCall) -> tuple[Probe, Any] | None:
        try:
            probe = probe_function(call.compute, call.x.shape, call.parameters)
        except (RuntimeError, ValueError, TypeError, IndexError) as error:
            probe = None
            if call.is_inline:
                self.notes.append(f"{call.name} was not probed: {shorten_error(error)}")
        if probe is not None:
            return probe, None
        if call.is_inline:
            return None
        found = find_constant_statistics(call)
        return found or ((Probe(None, None, "unknown"), None) if call.around else None)

    def _build_layer(self, name: str, found: tuple[Probe, Any]) -> LayerReport:
        call, inference = self.training.layers[name], self.inference.layers.get(name)
        set_modes(self.model, self.inference_modes)
        roles = choose_channel_axis(
            self.model, self.batch, self.inference, inference or call,
            self.roles.get(name, AxisRoles(None, (), False)), found[0].gain_axes,
        )  # fmt: skip
        report = build_layer_report(call, inference, roles, *found)
        modules = list(call.module.modules()) if call.module else []
        thawed = dict(zip(self.model.modules(), self.thawed_modes, strict=True))
        given = dict(zip(self.model.modules(), self.training_modes, strict=True))
        report.flags["is_frozen"] = call.is_frozen
        is_thawed = any(thawed[each] and not given[each] for each in modules)
        report.flags["is_thawed_by_train"] = is_thawed and report.training == "constant"
        report.flags["state_moves"] = call.has_moving_state() or report.flags["is_thawed_by_train"]
        return report

    def _measure_model(self, switching_layers: list[LayerReport]) -> dict[str, float | None]:
        """Return by name how much other examples, and the mode of `switching_layers`, change the model's output.

        `switching_layers`: layers with batch statistics in training, and others in inference.
        """
        others = range(1, find_batch_size(self.batch))
        changed = replace_examples(self.batch, others)
        training, inference = self._run(self.training_modes), self._run(self.inference_modes)
        modes = dict(zip(self.model.modules(), self.inference_modes, strict=True))
        for layer in switching_layers:
            call = self.training.layers[layer.name]
            modes |= dict.fromkeys(call.module.modules() if call.module else [call.around or self.model], True)
        normalized = self._run(list(modes.values()))
        return {
            "influence_training": compare_first_rows(training, self._run(self.training_modes, changed)),
            "influence_inference": compare_first_rows(inference, self._run(self.inference_modes, changed)),
            "train_eval_gap": measure_relative_gap(inference, training),
            "train_eval_gap_norm": measure_relative_gap(inference, normalized),
        }

    def _run(self, modes: list[bool], batch: Any = None) -> Tensor:
        set_modes(self.model, modes)
        return compute_output_matrix(self.model, self.batch if batch is None else batch, find_batch_size(self.batch))


def _drop_nested_calls(found: dict[str, tuple[Probe, Any]], recorder: Recorder) -> list[str]:
    """Return the names of the found calls, without calls inside a normalization and modules that only wrap one."""
    calls = recorder.layers
    dropped: set[str] = set()
    for outer in found:
        inside = [name for name in found if name != outer and _is_inside(name, outer)]
        modules = [name for name in inside if calls[name].module is not None]
        is_wrapper = any(torch.equal(calls[name].x, calls[outer].x) for name in modules)
        is_wrapper |= found[outer][0].form == "unknown" and bool(inside)
        dropped |= {outer} if is_wrapper else set(inside)
    return [name for name in calls if name in found and name not in dropped]


def _describe_untraced_calls(found: dict[str, tuple[Probe, Any]], recorder: Recorder) -> list[str]:
    """Return a note on each call that may normalize but was not probed, unless it is inside a found normalization."""
    names = (name for name in recorder.untraced if not any(_is_inside(name, outer) for outer in found))
    return [
        f"{name} was not probed: it may normalize, but in place, with statistics of several tensors, or along a single "
        "axis."
        for name in names
    ]


def _is_inside(name: str, outer: str) -> bool:
    return outer == ROOT_NAME or name.startswith((f"{outer}.", f"{outer}:"))
