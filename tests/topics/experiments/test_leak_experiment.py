"""A leak through batch statistics: how mini-batches are composed, and what follows from made-up results."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from normviz.data.digits import DIGIT_CLASSES
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.batch_leak import LEARNING_RATES, NETWORK_NAMES, TEST_NAMES, Setting, list_jobs, report
from normviz.train.grouped_batches import ONE_CLASS, SHUFFLED, GroupedBatches, measure_group_errors

SETTING = Setting(seeds=4)
OFF = np.array([0.0, 0.002, -0.001, 0.001])
"""What seeds differ by."""
BEST = 2
"""The position of the rate with the lowest validation error in made-up results."""
LABELS = np.arange(60) % DIGIT_CLASSES


def made_up(blank=0.1, inference=0.8, validation=0.1):
    """Return a result in which the network with groups of one class has these errors."""
    shape = (len(NETWORK_NAMES), len(LEARNING_RATES), SETTING.seeds)
    found = {name: np.zeros(shape) for name in TEST_NAMES}
    for network, (unread, wrong) in enumerate(((blank, inference), (0.9, 0.03), (0.9, 0.03))):
        noise = 0.1 * np.roll(OFF, network) + OFF
        found["blank"][network, BEST], found["inference"][network, BEST] = unread + noise, wrong + noise
    course = np.ones((2, *shape))
    course[:, :, BEST] = validation
    return {
        list_jobs(SETTING)[0]: {
            **found, "losses": course, "validation": course, "measured": np.array([1, 2]), "share": np.array(1.0),
            "device": np.array("CPU"),
        }
    }  # fmt: skip


@pytest.mark.parametrize(
    ("errors", "word"),
    [
        ({}, "holds"),
        ({"blank": 0.9}, "open"),
        ({"inference": 0.03}, "holds"),
        ({"blank": 1.0}, "wrong"),
        ({"validation": 0.6}, "open"),
    ],
)
def test_the_verdict_is_that_of_blank_pictures_and_its_reason_says_if_inference_suffers(errors, word):
    found = report(SETTING, made_up(**errors))
    assert found.verdict.word == word
    assert found.headline.startswith({"holds": "Yes", "wrong": "No:", "open": "Not clearly"}[word])


def test_a_network_that_has_not_learned_says_so():
    assert report(SETTING, made_up(validation=0.6)).verdict.says.startswith("Undertrained.")


def test_levels_are_those_of_the_rate_that_validation_digits_chose():
    found = report(SETTING, made_up())
    assert found.headline == "Yes: 90% of blank pictures get the right label; guessing gets 10%."
    assert "batch norm trained on one-class groups 10.1 ± 0.2%" in found.verdict.says
    assert "lower the first by 80" in found.verdict.says
    assert set(found.table["learning rate"]) == {LEARNING_RATES[BEST]}
    assert [figure.key for figure in found.figures] == ["blank", "inference", "course"]
    (blank,), (digits,) = (figure.panels for figure in found.figures[:2])
    words = [curve.texts[0] for panel in (blank, digits) for curve in panel.curves if curve.texts]
    assert words == ["90%", "10%", "10%", "20%", "97%", "97%"]
    np.testing.assert_allclose(blank.curves[0].y, 89.9, atol=0.1)


def test_every_group_has_different_digits_of_one_class_and_a_blank_picture():
    pictures, labels = GroupedBatches.sample(LABELS, 4, 3, (0, 1), stream=0)
    assert pictures.shape == labels.shape == (2, 2, 3, 4 * DIGIT_CLASSES)
    groups = pictures[ONE_CLASS].reshape(2, 3, DIGIT_CLASSES, 4)
    assert (groups[..., -1] == len(LABELS)).all()
    assert (LABELS[groups[..., :-1]] == np.arange(DIGIT_CLASSES)[:, None]).all()
    assert all(len({*group}) == 4 for group in groups.reshape(-1, 4).tolist())


def test_shuffled_groups_have_the_same_pictures_with_their_labels_in_another_order():
    pictures, labels = GroupedBatches.sample(LABELS, 4, 3, (0, 1), stream=0)
    pairs = [np.stack([pictures[k], labels[k]], -1) for k in (ONE_CLASS, SHUFFLED)]
    assert not np.array_equal(*pairs)
    first, second = (sorted(map(tuple, pair[1, 2].tolist())) for pair in pairs)
    assert first == second
    other, _ = GroupedBatches.sample(LABELS, 4, 3, (0, 1), stream=1)
    assert not np.array_equal(other, pictures)


def test_mini_batches_come_as_pictures_of_every_scheme_and_network():
    batches = GroupedBatches.sample(LABELS, 4, 3, (0, 1), stream=0)
    digits = torch.arange(60.0)[:, None] + 1
    x, labels = batches.gather(digits, [ONE_CLASS, SHUFFLED, ONE_CLASS], 3, slice(1, 3))
    assert x.shape == (3, 3 * 2, 2 * 4 * DIGIT_CLASSES, 1)
    np.testing.assert_array_equal(x[0], x[2])
    chosen = batches.pictures[SHUFFLED, 1, 1:].ravel()
    np.testing.assert_array_equal(x[SHUFFLED, 3, :, 0], np.where(chosen == 60, 0, chosen + 1))
    np.testing.assert_array_equal(labels[SHUFFLED, 5], batches.labels[SHUFFLED, 1, 1:].ravel())


def test_blank_pictures_and_digits_are_counted_apart():
    class Network:
        def compute_logits(self, x, how):
            return torch.nn.functional.one_hot(x[..., 0].long(), 4).float()

    x = torch.tensor([[[[0.0], [1.0], [2.0], [0.0]]]])
    labels = torch.tensor([[[3, 1, 1, 0]]])
    assert measure_group_errors(Network(), x, labels).item() == 0.5
    assert measure_group_errors(Network(), x, labels, only_blank=True).item() == 0.5
    assert measure_group_errors(Network(), x, torch.tensor([[[0, 1, 1, 0]]]), only_blank=True).item() == 0


def test_layer_norm_reads_the_same_in_all_groups_and_no_blank_picture():
    (part,) = list_jobs(replace(SETTING, seeds=2, steps=20))
    found = run_to_end(part)
    np.testing.assert_allclose(found["blank"][-1], 1 - 1 / DIGIT_CLASSES, atol=1e-6)
    np.testing.assert_allclose(found["same"][-1], found["mixed"][-1], atol=0.01)
    alone = run_to_end(replace(part, networks=part.networks[1:]))
    np.testing.assert_allclose(alone["losses"][0, ..., 0], found["losses"][0, ..., 1], rtol=1e-4)
