"""The jobs of the experiment on recurrent networks: the training, the gradient at its start, and two layouts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from normviz.core.fields import Field
from normviz.core.registry import make_custom_scheme
from normviz.core.scheme_spec import SchemeSpec
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import NetworksJob, SchemeJob
from normviz.topics.experiments.training_history import StackableArrays, make_job_step

if TYPE_CHECKING:
    import torch

STATE_UNITS = 32

DIGIT_PIXELS = 64

WEIGHT_SCALES = tuple(2.0 ** (k / 2) for k in range(-4, 5))
"""Factors of the initial weights, 1/4 to 4."""

FIRST_GAINS = (0.1, 0.2, 0.5, 1.0, 1.5, 2.0, 3.0)
"""First values of γ at which gradients are measured; Cooijmans et al. (2016) start at 0.1."""

LEARNING_RATES = (0.005, 0.01, 0.02, 0.05)
"""Learning rates of Adam of the grid."""

STEPS_BACK = 24
"""Steps over which the gradient goes back before training."""

LAYOUT_SCHEMES = (
    SchemeSpec("batch", "full,full,full,own", "full,full,full,own"),
    SchemeSpec.of(make_custom_scheme(*[Field.parse("full,own,full,full")] * 2)),
)
"""BatchNorm1d over all steps at once: fed (B, C, T), it keeps the channels; fed (B, T, C), it keeps the steps."""

STATISTICS_DIGITS = 512
"""Digits from which the statistics of `LAYOUT_SCHEMES` for inference are taken."""


def list_leading_step_counts(max_wait: int) -> range:
    """Return the numbers of empty leading steps in test sequences, from 0 to beyond the training's `max_wait`."""
    return range(2 * max_wait + 5)


@dataclass(frozen=True)
class SequenceTraining(SchemeJob, kind="experiments/recurrent/reading", version=3):
    """Job that trains recurrent networks of one scheme on sequences of unequal length, at all learning rates and seeds.

    Its result holds "losses", (steps, rates, seeds). At the end it has "validation", the errors on lengths of the
    training, (rates, seeds), and the test errors on all lengths, (lengths, rates, seeds): "by_step" with the statistics
    of every step, "together" with one statistic for all steps.
    """

    inputs: int
    wait: int
    batch: int
    gain: float

    @property
    def seconds(self) -> float:
        count = len(LEARNING_RATES) * len(self.networks)
        steps = DIGIT_PIXELS // self.inputs + self.wait
        tested = sum(DIGIT_PIXELS // self.inputs + wait for wait in list_leading_step_counts(self.wait))
        return self.length * steps * (5e-4 + count * (5e-6 + 5e-7 * self.batch)) + 4e-4 * count * tested

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train import learning
        from normviz.train.dense import load_digit_parts
        from normviz.train.recurrent import (
            Recurrent,
            RecurrentPlan,
            convert_to_sequences,
            make_unequal_batch,
            pool_statistics,
            select_last_states,
        )

        device = learning.open_float32_device(self.device)
        digits = load_digit_parts(device)
        (x, labels), shape = digits.train, (len(LEARNING_RATES), len(self.networks))
        each = DIGIT_PIXELS // self.inputs
        ahead, still = make_unequal_batch(self.batch, self.wait, each)
        plan = RecurrentPlan(self.inputs, STATE_UNITS, still, self.eps, self.gain)
        network = Recurrent([self.row.scheme], self.networks * shape[0], plan, device)
        learner = learning.Trainer(network.parameters, "adam", np.repeat(LEARNING_RATES, shape[1])[None])
        losses: list[np.ndarray] = []
        for step, chosen in enumerate(learning.shuffle_mini_batches(self.networks, len(x), self.length, self.batch), 1):
            same = chosen.repeat(shape[0], 1)
            sequences = convert_to_sequences(x[same], self.inputs, ahead, len(still)).unsqueeze(1)
            states = select_last_states(list(network.iterate_states(sequences, still)), still)
            loss = learning.cross_entropy(network.compute_logits(states), labels[same])
            learner.step(loss)
            losses.append(learning.to_numpy(loss).reshape(shape))
            yield make_job_step(0.9 * step / self.length, device, lambda: {"losses": losses})

        def errors(part: "tuple[torch.Tensor, torch.Tensor]", wait: int) -> np.ndarray:
            pictures, answers = part
            tested = convert_to_sequences(pictures, self.inputs, [wait] * len(pictures), wait + each)
            return learning.to_numpy(learning.compute_error_rate(network.infer_logits(tested), answers)).reshape(shape)

        whole = x[: len(x) // self.batch * self.batch].unflatten(0, (-1, self.batch))
        network.collect_statistics(convert_to_sequences(whole, self.inputs, ahead, len(still))[None])
        validation = np.mean([errors(digits.validation, wait) for wait in range(self.wait + 1)], axis=0)
        found: dict[str, list[np.ndarray]] = {"by_step": [], "together": []}
        norms = {"by_step": network.norms, "together": [pool_statistics(network.norms)]}
        lengths = list_leading_step_counts(self.wait)
        for wait in lengths:
            for name, network.norms in norms.items():
                found[name].append(errors(digits.test, wait))
            yield make_job_step(0.9 + 0.09 * (wait + 1) / len(lengths), device, lambda: {"losses": losses})
        yield make_job_step(1.0, device, lambda: {"losses": losses, "validation": validation, **found})


@dataclass(frozen=True)
class StateGradients(NetworksJob, kind="experiments/recurrent/back", version=3):
    """Job that measures the gradient of the state, ‖∂L/∂h_t‖, at the last `STEPS_BACK` steps before any training.

    A point is a pair: the factor of the initial weights, and γ. Its result holds "norms", (points, steps, schemes,
    seeds).
    """

    rows: tuple[SchemeSpec, ...]
    inputs: int
    batch: int
    points: tuple[tuple[float, float], ...]
    apart: bool
    eps: float

    @property
    def seconds(self) -> float:
        count = len(self.rows) * len(self.networks)
        return len(self.points) * STEPS_BACK * (5e-4 + count * (5e-6 + 4e-7 * self.batch))

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Measure gradients for each pair of weight scale and γ, and yield the result so far after each."""
        from normviz.train import learning
        from normviz.train.dense import load_digit_parts
        from normviz.train.recurrent import Recurrent, RecurrentPlan, convert_to_sequences, measure_state_gradients

        device = learning.open_float32_device(self.device)
        x, labels = load_digit_parts(device).train
        each = DIGIT_PIXELS // self.inputs
        order = learning.shuffle_mini_batches(self.networks, len(x), -(-STEPS_BACK // each), self.batch)
        digits = convert_to_sequences(x[order], self.inputs, [0] * self.batch, each)
        sequences = digits.permute(1, 2, 0, 3, 4).flatten(2, 3)[:, :, -STEPS_BACK:]
        schemes, still = [row.scheme for row in self.rows], [self.batch] * STEPS_BACK
        norms: list[np.ndarray] = []
        for k, (scale, gain) in enumerate(self.points, 1):
            place: Literal["apart", "sum"] = "apart" if self.apart else "sum"
            plan = RecurrentPlan(self.inputs, STATE_UNITS, still, self.eps, gain, scale, place)
            network = Recurrent(schemes, self.networks, plan, device)
            norms.append(learning.to_numpy(measure_state_gradients(network, sequences, labels[order[-1]])))
            yield make_job_step(k / len(self.points), device, lambda: {"norms": norms})


@dataclass(frozen=True)
class LayoutTraining(NetworksJob, kind="experiments/recurrent/layouts", version=3):
    """Job that trains networks whose inputs Ux are normalized over all time steps at once, in each of `LAYOUT_SCHEMES`.

    Its result holds "losses", (steps, layouts, rates, seeds), and "spreads", the standard deviation of every unit
    before training, the largest first, (layouts, seeds, units). At the end it has "validation" and "test", the errors
    (layouts, rates, seeds).
    """

    inputs: int
    batch: int
    length: int
    gain: float
    eps: float

    @property
    def seconds(self) -> float:
        count = len(LAYOUT_SCHEMES) * len(LEARNING_RATES) * len(self.networks)
        return self.length * DIGIT_PIXELS // self.inputs * (3e-4 + count * (1e-5 + 5e-7 * self.batch)) + 0.02 * count

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train import learning
        from normviz.train.dense import load_digit_parts
        from normviz.train.recurrent import Recurrent, RecurrentPlan, convert_to_sequences

        device = learning.open_float32_device(self.device)
        each = DIGIT_PIXELS // self.inputs
        digits = [
            (convert_to_sequences(x, self.inputs, [0] * len(x), each), labels) for x, labels in load_digit_parts(device)
        ]
        (x, labels), *unseen = digits
        shape, still = (len(LAYOUT_SCHEMES), len(LEARNING_RATES), len(self.networks)), [self.batch] * each
        plan = RecurrentPlan(self.inputs, STATE_UNITS, still, self.eps, self.gain, normalized="sequence")
        network = Recurrent([row.scheme for row in LAYOUT_SCHEMES], self.networks * shape[1], plan, device)
        learner = learning.Trainer(network.parameters, "adam", np.repeat(LEARNING_RATES, shape[2])[None])
        # Networks start alike at all rates.
        first = network.normalize_inputs(x[None, None, : self.batch])[:, : shape[2]] / self.gain
        spreads = learning.to_numpy(first.std((2, 3)).sort(descending=True).values)
        losses: list[np.ndarray] = []
        found: dict[str, StackableArrays] = {"losses": losses, "spreads": spreads}
        for step, chosen in enumerate(learning.shuffle_mini_batches(self.networks, len(x), self.length, self.batch), 1):
            same = chosen.repeat(shape[1], 1)
            *_, state = network.iterate_states(x[same].unsqueeze(1), still)
            loss = learning.cross_entropy(network.compute_logits(state), labels[same])
            learner.step(loss)
            losses.append(learning.to_numpy(loss).reshape(shape))
            yield make_job_step(0.95 * step / self.length, device, lambda: found)
        kept = x[: STATISTICS_DIGITS // self.batch * self.batch]
        network.collect_statistics(kept.unflatten(0, (-1, self.batch))[None])
        found["validation"], found["test"] = (
            learning.to_numpy(learning.compute_error_rate(network.infer_logits(x), answers)).reshape(shape)
            for x, answers in unseen
        )
        yield make_job_step(1.0, device, lambda: found)
