"""The small networks: what the sigmoids see, and the bias outside of the gradient."""

from dataclasses import replace

import numpy as np
import pytest

from normviz.data.digits import load_digits
from normviz.jobs.spec import compute_digest
from normviz.topics.why import learning, network, outside, saturation
from normviz.topics.why.network import TrainingPlan

PLAN = TrainingPlan((6, 5), True, 0.5, 3, 2.0, (0, 1))


def test_networks_side_by_side_are_networks_alone():
    together, losses = network.train_networks(PLAN)
    for k in range(2):
        alone, loss = network.train_networks(replace(PLAN, seeds=PLAN.seeds[k : k + 1]))
        np.testing.assert_allclose(losses[:, k], loss[:, 0], rtol=1e-12)
        np.testing.assert_allclose(together.weights[0][k], alone.weights[0][0], rtol=1e-9)


def test_the_edge_of_saturation():
    sigma = 1 / (1 + np.exp(-saturation.SATURATION_INPUT))
    assert sigma * (1 - sigma) == pytest.approx(saturation.SATURATION_SLOPE)


@pytest.fixture(scope="module")
def runs():
    setting = saturation.Setting(start=8.0)
    return [saturation.train_and_measure(setting, normalized, 2) for normalized in (False, True)]


def test_sigmoids_saturate_without_batch_norm_and_the_deep_network_does_not_learn(runs):
    plain, normed = runs
    assert plain.saturated[-1, :, -1].min() > 0.8
    assert normed.saturated.max() < 0.2
    assert plain.accuracy[-1].max() < 0.3
    assert normed.accuracy[-1].min() > 0.85
    assert normed.validation.min() > 0.85 > 0.3 > plain.validation.max()


def test_bands_are_in_order_and_normalized_inputs_start_as_they_should(runs):
    for seen in runs:
        assert seen.quantiles.shape == (len(seen.steps), 3, 5, saturation.WIDTH)
        assert (np.diff(seen.quantiles, axis=1) >= 0).all()
    first = runs[1].quantiles[0]
    assert np.abs(np.median(first, axis=(1, 2)) - [-1, 0, 1]).max() < 0.2  # mean 0, variance 1


def test_the_parts_of_the_digits_are_apart_and_make_all_of_them():
    parts = [network.load_split_rows(part)[0] for part in network.SPLIT_NAMES]
    assert [len(part) for part in parts] == [1200, network.VALIDATION_DIGITS, network.TEST_DIGITS]
    np.testing.assert_array_equal(np.concatenate(parts), load_digits()[0].reshape(-1, 64))


def test_a_seed_gives_the_same_network_alone_and_among_others():
    setting = saturation.Setting(rate=0.3, depth=2)
    pair, second = (
        saturation.train_and_measure(setting, True, 2),
        saturation.train_and_measure(replace(setting, seed=1), True, 1),
    )
    np.testing.assert_allclose(second.accuracy[:4, 0], pair.accuracy[:4, 1], atol=0.01)


# --- shipped results ----------------------------------------------------------------------------------------------


def test_the_shipped_results_are_those_of_this_study():
    """Fails when a constant of the study changes: `python -m normviz.topics.why.learning` then writes the file anew."""
    assert str(learning.read_study()["digest"]) == compute_digest(learning.STUDY)
    assert compute_digest(replace(learning.STUDY, width=51)) != compute_digest(learning.STUDY)


def test_shipped_results_are_computed_by_this_code():
    """A long training at a high rate amplifies rounding, so that another machine may part from it in the end."""
    setting = saturation.Setting(rate=1.0)
    for normalized, name in learning.KIND_NAMES.items():
        again, shipped = (
            saturation.train_and_measure(setting, normalized, 2).final_results,
            learning.find_shipped_results(setting)[name],
        )
        np.testing.assert_allclose(again.accuracy[:3], shipped.accuracy[:3, :2], atol=0.02)
        np.testing.assert_allclose(again.accuracy[-1], shipped.accuracy[-1, :2], atol=0.1)
        np.testing.assert_allclose(again.validation, shipped.validation[:2], atol=0.1)
        np.testing.assert_allclose(again.saturated, shipped.saturated[:2], atol=0.1)


@pytest.mark.parametrize("change", [{"depth": 4}, {"seed": 1}, {"start": 3.0}, {"rate": 2.0}])
def test_no_result_is_shipped_for_other_networks(change):
    assert learning.find_shipped_results(replace(saturation.Setting(), **change)) is None
    assert (learning.find_shipped_sweeps(replace(saturation.Setting(), **change)) is None) == ("rate" not in change)


def test_the_rate_is_chosen_by_validation_digits():
    accuracy = np.array([[0.9, 0.9], [0.5, 0.95]])
    sweep = learning.RateSweep(accuracy, validation=np.array([[0.1, 0.1], [0.2, 0.2]]))
    assert (sweep.best_rate_index, sweep.robust_count) == (1, 1)


@pytest.mark.parametrize("rate", [0.001, 0.1, 10.0])
def test_outside_of_the_gradient_b_grows_and_the_loss_stands_still(rate):
    out, inside = (outside.descend_bias(rate, 100, 3, each) for each in (False, True))
    np.testing.assert_allclose(out.b, rate * outside.TARGET * np.arange(101), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(out.losses, out.losses[0], rtol=1e-9)
    np.testing.assert_allclose(inside.b, 0, atol=1e-12 * (1 + rate * 100))
    np.testing.assert_allclose(inside.losses, out.losses[0], rtol=1e-9)


def test_the_step_inside_is_the_true_slope():
    u, t = outside.sample_bias_examples(0)
    slope = [(((u + b) - (u + b).mean() - t) ** 2).mean() / 2 for b in (-1e-3, 1e-3)]
    assert slope[0] == pytest.approx(slope[1], rel=1e-9)


def test_unseen_digits_are_normalized_by_the_statistics_of_others():
    net, (x, _), (unseen, _) = (
        network.make_initial_networks(PLAN),
        network.load_split_rows(),
        network.load_split_rows("test"),
    )
    frozen = net.run(x).moments
    together = net.run(unseen, frozen).logits
    np.testing.assert_allclose(net.run(unseen[:1], frozen).logits, together[:, :1], atol=1e-12)
    one = replace(net, weights=[np.abs(weight) for weight in net.weights])
    frozen = one.run(x).moments
    assert np.abs(one.run(unseen).layers[0].a - one.run(unseen, frozen).layers[0].a).max() > 1e-3
    read = one.run(unseen, frozen).logits.argmax(-1)
    np.testing.assert_allclose(
        network.measure_test_accuracy(one), (read == network.load_split_rows("test")[1]).mean(-1)
    )
