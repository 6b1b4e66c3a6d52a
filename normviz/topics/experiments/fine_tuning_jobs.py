"""The job of the experiment on fine-tuning: networks learn one task, and are tuned to another at every rate."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from normviz.core.registry import DEFAULT_EPS
from normviz.jobs.results import Arrays
from normviz.jobs.spec import JobStep
from normviz.topics.experiments.experiment_jobs import NetworksJob
from normviz.topics.experiments.training_history import choose_measured_steps, make_job_step

LAYER_WIDTHS = (64, 64)
"""Units of the normalized layers."""

BEFORE, BEFORE_BATCH, BEFORE_RATE, BEFORE_MOMENTUM = 200, 64, 0.003, 0.1
"""Steps, batch size, learning rate of Adam and momentum (PyTorch's default) of the training on the first task."""

LEARNING_RATES = (0.0001, 0.0003, 0.001, 0.003, 0.01, 0.03)
"""Learning rates of Adam of the grid, at which networks are tuned."""

MOMENTA = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0)
"""Shares of a new batch in the running averages that are compared."""

MEASUREMENT_COUNT = 10
"""Steps of the tuning at which errors are measured."""

LEARNED_PARAMETERS: dict[str, tuple[str, ...]] = {
    "nothing": (),
    "head": ("classifier",),
    "weights": ("classifier", "weights"),
    "all": ("classifier", "weights", "γ, β"),
}
"""The parameters that the tuning changes, by the choice; all others are frozen."""


@dataclass(frozen=True)
class TuningJob(NetworksJob, kind="experiments/fine-tuning", version=2):
    """Job that trains networks of all seeds on the first task, then tunes them in one mode.

    The stack has every choice of what is learned at every learning rate. Its result holds

    - "measured": the steps of the tuning at which the errors were measured, from 0 on;
    - "old", "new", "validation": errors on test digits of both tasks, and on validation digits of the new one, each
      (measured steps, choices, rates, seeds);
    - "moved": the distance of the running means from their values before the tuning, in standard deviations,
    - "old by momentum": at the end, the error on the first task, (momenta, choices, rates, seeds);
    - "changed: …": at the end, the largest change of parameters, (choices, rates, seeds).
    """

    mode: str
    task: str
    momentum: float
    examples: int
    batch: int
    length: int

    @property
    def momenta(self) -> tuple[float, ...]:
        """The compared momenta of the running averages; only one in evaluation mode, which does not update them."""
        return tuple(sorted({*MOMENTA, self.momentum})) if self.mode == "train" else (self.momentum,)

    @property
    def seconds(self) -> float:
        count = len(self.networks) * len(LEARNED_PARAMETERS) * len(LEARNING_RATES)
        looks = 1350 * MEASUREMENT_COUNT / 3 + 450 * len(self.momenta) / 3
        before = BEFORE * BEFORE_BATCH / (len(LEARNED_PARAMETERS) * len(LEARNING_RATES))
        trained = before + self.length * self.batch + looks
        return 2e-3 * BEFORE + 3e-3 * self.length + 2.5e-6 * count * trained

    def steps(self) -> Iterator[JobStep[Arrays]]:
        from normviz.train.batch_norm import BatchNorm
        from normviz.train.learning import Trainer, cross_entropy, open_float32_device, to_numpy
        from normviz.train.tuning import TunedNetworks, make_tuning_tasks, measure_mean_drift, measure_parameter_changes

        device = open_float32_device(self.device)
        first, second = make_tuning_tasks(self.task, self.networks, self.examples, device)
        network = TunedNetworks(self.networks, LAYER_WIDTHS, BEFORE_MOMENTUM, DEFAULT_EPS, device)
        learner = Trainer([*network.weights, *network.gains, *network.biases, *network.old], "adam", BEFORE_RATE)
        found: dict[str, list[np.ndarray]] = {"measured": [], "old": [], "new": [], "validation": [], "moved": []}
        count = BEFORE + self.length
        for step, (x, labels) in enumerate(first.iterate_batches(self.networks, BEFORE, BEFORE_BATCH), 1):
            learner.step(cross_entropy(network.compute_logits(x, BatchNorm.normalize_in_training, new=False), labels))
            yield make_job_step(step / count, device, lambda: found)

        shape = (len(LEARNED_PARAMETERS), len(LEARNING_RATES), len(self.networks))
        fresh = self.task == "digits"
        before, network = (network.replicate(shape[0] * shape[1], self.momenta, fresh) for _ in range(2))
        parameters = [(name, each) for name, some in network.parameter_groups.items() for each in some]
        learned = [[name in names for names in LEARNED_PARAMETERS.values()] for name, _ in parameters]
        rates = [network.old[0].new_tensor(np.outer(each, LEARNING_RATES)).view(-1, 1) for each in learned]
        learner = Trainer([each for _, each in parameters], "adam", rates)
        chosen = self.momenta.index(self.momentum)

        def normalize(norm: BatchNorm, x: Any) -> Any:
            return norm.normalize_in_training(x) if self.mode == "train" else norm.normalize_in_inference(x, chosen)

        def measure(step: int) -> None:
            found["measured"].append(np.array(step))
            for name, task in (("old", first.test), ("new", second.test), ("validation", second.validation)):
                found[name].append(to_numpy(network.measure_error_rates(task, name != "old", chosen)).reshape(shape))
            found["moved"].append(to_numpy(measure_mean_drift(network, before, chosen)).reshape(shape))

        last: Arrays = {}
        measured = choose_measured_steps(self.length, MEASUREMENT_COUNT)
        measure(0)
        for step, (x, labels) in enumerate(second.iterate_batches(self.networks, self.length, self.batch), 1):
            learner.step(cross_entropy(network.compute_logits(x, normalize, new=True), labels))
            if step in measured:
                measure(step)
            if step == self.length:
                errors = [network.measure_error_rates(first.test, False, which) for which in range(len(self.momenta))]
                last["old by momentum"] = np.stack([to_numpy(each).reshape(shape) for each in errors])
                for name, each in measure_parameter_changes(network, before).items():
                    last[f"changed: {name}"] = to_numpy(each).reshape(shape)
            yield make_job_step((BEFORE + step) / count, device, lambda: {**found, **last})
