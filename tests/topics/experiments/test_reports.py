"""What the experiments share: the steps of a training, outcomes at the best rate, bands, tables and clear signs."""

import numpy as np
import pytest
import torch

from normviz.describe.seeds import MeanDifference, find_clear_differences, find_clear_signs
from normviz.topics.experiments.grid_outcome import GridOutcome, describe_undertraining
from normviz.topics.experiments.reports import Verdict, describe_extent, make_band_curve, tabulate
from normviz.topics.experiments.training_history import TrainingHistory, clip_to_percent, make_job_step

ERRORS = np.array([[[0.9, 0.7], [0.5, 0.5]], [[0.1, 0.3], [0.2, 0.4]]])
"""Of two measured steps, two rates and two seeds."""


def test_a_course_has_the_mean_losses_since_the_step_that_was_marked_before():
    course, cpu = TrainingHistory(4, 2, (2, 1)), torch.device("cpu")
    assert course.marks.tolist() == [1, 4]
    for step in range(1, 5):
        course.add_losses(torch.tensor([[step, 10.0 * step]]))
        if course.is_measurement_due:
            course.add_errors(test=torch.tensor([[0.1 * step, 0.2]]))
        result = course.make_step(cpu).result()
        assert (result["share"], str(result["device"])) == (step / 4, "CPU")
    assert result["losses"].tolist() == [[[1.0], [10.0]], [[3.0], [30.0]]]
    assert result["test"] == pytest.approx(np.array([[[0.1], [0.2]], [[0.4], [0.2]]]))


def test_the_result_of_a_step_is_made_when_it_is_asked_for():
    losses = [np.ones(2)]
    step = make_job_step(0.5, torch.device("cpu"), lambda: {"losses": losses})
    losses.append(np.zeros(2))
    assert step.result()["losses"].tolist() == [[1.0, 1.0], [0.0, 0.0]]


def test_an_outcome_is_at_the_rate_that_validation_digits_choose():
    result = {"validation": ERRORS[:, ::-1], "test": ERRORS, "share": np.array(1.0)}
    outcome = GridOutcome("batch norm", "Batch", 0, (0.1, 0.3), result)
    assert (outcome.best_rate_index, outcome.rate, outcome.is_ended) == (1, 0.3, True)
    assert outcome.final_errors.tolist() == [0.2, 0.4]
    assert outcome.get_at_best_rate("validation").tolist() == [[0.9, 0.7], [0.1, 0.3]]
    assert outcome.final_error_text.startswith("30.0 ±")


@pytest.mark.parametrize(
    ("fall", "is_clear"), [([0.1, 0.11, 0.12], True), ([0.1, -0.1, 0.2], False), ([-0.1] * 3, False)]
)
def test_errors_that_clearly_fall_in_the_second_half_of_the_training_are_undertrained(fall, is_clear):
    test = np.stack([[0.9] * 3, 0.2 + np.array(fall), [0.2] * 3])[:, None]
    outcome = GridOutcome("batch norm", "Batch", 0, (0.1,), {"validation": test, "test": test})
    said = describe_undertraining([outcome, outcome])
    assert said == is_clear * (
        " Undertrained: these errors fall by 11 ± 2.5 points on average in the second half of the training."
    )


def test_a_band_is_scaled_with_its_ends():
    curve = make_band_curve(
        "Batch", np.arange(2), np.array([[0.1, 0.3], [0.0, 0.0]]), 3, clip_to_percent, has_markers=True
    )
    assert (curve.style, curve.has_markers, curve.is_scatter) == (3, True, False)
    assert curve.y.tolist() == pytest.approx([20.0, 0.1])
    assert curve.low[0] == 0.1
    assert curve.high[0] > 40


def test_a_verdict_under_a_condition_names_it():
    part = Verdict("holds-if", "So.", extent=describe_extent({"rate 0.01": 1, "the best rates": 0}, "at"))
    assert part.text == "Holds at rate 0.01. At the best rates, this is not clear"
    assert Verdict("holds-if", "So.").text == "Holds under a condition"


def test_rows_become_columns():
    assert tabulate([{"seed": 0, "error": 0.1}, {"seed": 1, "error": 0.2}]) == {"seed": [0, 1], "error": [0.1, 0.2]}
    assert tabulate([]) == {}


def test_only_clear_differences_have_a_sign():
    found = [
        MeanDifference(-1, 0.1, 0.001),
        MeanDifference(2, 0.1, 0.002),
        MeanDifference(3, 9, 0.8),
        MeanDifference(np.nan, np.nan),
    ]
    assert find_clear_signs(found) == [-1, 1, 0, 0]
    assert [sign != 0 for sign in find_clear_signs(found)] == find_clear_differences(found)
