"""The small networks that learn digits: their gradients are torch's, and wrong statistics cost what is said of them."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from normviz.core.errors import InvalidInput
from normviz.data.digits import load_digit_split
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.running import cases, network
from normviz.topics.running.averages import CONVENTIONS, Moments
from normviz.topics.running.network import NETWORK_COUNT, STEPS, WIDTHS, NetworkTraining
from normviz.train.numpy_network import initialize_networks

PYTORCH, KERAS = CONVENTIONS["pytorch"], CONVENTIONS["keras"]


def torchs(one, eps, momentum=0.1):
    """One of the networks, built of torch's own layers."""
    parts = []
    for k, width in enumerate(WIDTHS):
        parts += [
            torch.nn.Linear(one.weights[k].shape[1], width, bias=False),
            torch.nn.BatchNorm1d(width, eps=eps, momentum=momentum),
            torch.nn.ReLU(),
        ]
    model = torch.nn.Sequential(*parts, torch.nn.Linear(WIDTHS[-1], 10)).double()
    with torch.no_grad():
        for k, (gain, bias) in enumerate(zip(one.gains, one.biases, strict=False)):
            model[3 * k].weight.copy_(torch.as_tensor(one.weights[k][0].T))
            model[3 * k + 1].weight.copy_(torch.as_tensor(gain[0, 0]))
            model[3 * k + 1].bias.copy_(torch.as_tensor(bias[0, 0]))
        model[-1].weight.copy_(torch.as_tensor(one.weights[-1][0].T))
        model[-1].bias.copy_(torch.as_tensor(one.biases[-1][0, 0]))
    return model


def uneven_network(seed, eps=1e-5):
    """A network whose gains and biases are not 1 and 0, as if they had been learned."""
    rng = np.random.default_rng(seed)
    one = initialize_networks([rng], WIDTHS, eps)
    for array in [*one.gains, *one.biases]:
        array += 0.3 * rng.standard_normal(array.shape)
    return one


@given(st.integers(0, 999), st.sampled_from([2, 5, 16]), st.sampled_from([1e-5, 0.1]))
@settings(max_examples=10)
def test_logits_and_gradients_are_torchs(seed, batch, eps):
    one, (pictures, classes) = uneven_network(seed, eps), network.load_input_rows()
    chosen = np.random.default_rng(seed).permutation(len(pictures))[:batch]
    passed = one.run(pictures[chosen])
    model = torchs(one, eps)
    logits = model(torch.as_tensor(pictures[chosen]))
    np.testing.assert_allclose(passed.logits[0], logits.detach(), rtol=1e-6, atol=1e-8)
    torch.nn.functional.cross_entropy(logits, torch.as_tensor(classes[chosen])).backward()
    named = dict(model.named_parameters())
    last = 3 * len(WIDTHS)
    expected = [named[f"{3 * k}.weight"].grad.T for k in range(len(WIDTHS))] + [named[f"{last}.weight"].grad.T]
    expected += [named[f"{3 * k + 1}.{name}"].grad for name in ("weight", "bias") for k in range(len(WIDTHS))]
    expected += [named[f"{last}.bias"].grad]
    for own, theirs in zip(one.compute_gradients(passed, classes[chosen])[1], expected, strict=True):
        np.testing.assert_allclose(own[0].reshape(theirs.shape), theirs, rtol=1e-5, atol=1e-7)


def test_evaluation_is_torchs_after_the_same_batches():
    one, (pictures, _) = uneven_network(3), network.load_input_rows()
    model, eps = torchs(one, 1e-5), 1e-5
    batches = [pictures[k * 16 : (k + 1) * 16] for k in range(5)]
    moments = [network.join_moments(one.run(batch)) for batch in batches]
    for batch in batches:
        model(torch.as_tensor(batch))
    found = network.TrainedNetworks(one, *(np.stack(part) for part in zip(*moments, strict=True)))
    kept = cases.compute_training_averages(found, NetworkTraining(16, eps, 0), PYTORCH, 0.1).final_averages
    tests, classes = network.load_input_rows(test=True)
    logits = one.run(tests, network.split_moments(kept)).logits[0]
    expected = model.eval()(torch.as_tensor(tests)).detach()
    np.testing.assert_allclose(logits, expected, rtol=1e-5, atol=1e-6)
    right = (expected.argmax(-1).numpy() == classes).mean()
    np.testing.assert_allclose(cases.measure_frozen_accuracy(found, kept), right)


def test_a_training_is_the_same_every_time_and_its_networks_differ():
    job = NetworkTraining(8, 1e-5, 12)
    one, two = run_to_end(job), run_to_end(job)
    for a, b in zip(one.network.parameters, two.network.parameters, strict=True):
        np.testing.assert_array_equal(a, b)
    assert one.means.shape == (STEPS, NETWORK_COUNT, sum(WIDTHS))
    assert len(np.unique(one.network.weights[0].reshape(NETWORK_COUNT, -1)[:, 0])) == NETWORK_COUNT
    assert (
        compute_digest(job)
        == compute_digest(NetworkTraining(8, 1e-5, 12))
        != compute_digest(NetworkTraining(8, 1e-5, 13))
    )


def test_it_may_be_abandoned_after_every_step():
    steps = NetworkTraining(4, 1e-5, 0).steps()
    early = next(steps)
    assert early.share == 1 / STEPS
    result = early.result()
    kept = result.network.weights[0].copy()
    next(steps)
    assert len(result.means) == 1
    np.testing.assert_array_equal(result.network.weights[0], kept)  # what was told is not changed by later steps


@pytest.mark.parametrize("seed", [0, 1, 77, 4711, 9999])
def test_mistakes_cost_what_is_said_of_them(seed):
    """At the page's defaults, whatever the seed."""
    job = NetworkTraining(16, 1e-5, seed)
    found = run_to_end(job)
    cost = {
        key: float(values.mean()) for key, values in cases.measure_case_accuracies(found, job, PYTORCH, 0.1).items()
    }
    assert cost["population"] > 0.94
    assert abs(cost["running"] - cost["population"]) < 0.02
    assert "one" not in cost  # PyTorch refuses it
    assert cases.measure_case_accuracies(found, job, CONVENTIONS["keras"], 0.1)["one"].mean() < 0.13
    assert cost["class"] < 0.2
    for key, least in (("fresh", 0.15), ("few", 0.08), ("stale", 0.1), ("contrast", 0.05), ("mixed", 0.005)):
        assert cost[key] < cost["population"] - least, key
    assert cost["batches"] < cost["population"]


def test_the_cases_are_what_they_say():
    job = NetworkTraining(32, 1e-3, 5)
    found = run_to_end(job)
    cost = cases.measure_case_accuracies(found, job, KERAS, 0.1)
    labels = network.load_input_rows(test=True)[1]
    zero = Moments(np.zeros((NETWORK_COUNT, sum(WIDTHS))), np.ones((NETWORK_COUNT, sum(WIDTHS))))
    np.testing.assert_array_equal(cost["fresh"], cases.measure_frozen_accuracy(found, zero))
    alone = found.network.run(network.load_input_rows(test=True)[0][:, None, None]).logits.argmax(-1)
    assert all(len(np.unique(alone[:, k])) == 1 for k in range(NETWORK_COUNT))  # the same answer for every digit
    counts = np.bincount(labels, minlength=10) / len(labels)
    np.testing.assert_allclose(cost["one"], counts[alone[0, :, 0]])
    same = cases.measure_case_accuracies(found, job, KERAS, 0.5)
    np.testing.assert_array_equal(same["mixed"], same["running"])
    whole = found.network.run(network.load_input_rows()[0])
    np.testing.assert_allclose(network.join_moments(whole).mean, cases.compute_final_population(found).mean)


def test_batches_of_unequal_size_count_by_their_digits():
    job = NetworkTraining(7, 1e-5, 1)
    found = run_to_end(job)
    pictures, classes = network.load_input_rows(test=True)
    batches = np.split(np.arange(len(classes)), [3, 10, 40])
    right = [(found.network.run(pictures[b]).logits.argmax(-1) == classes[b]).sum(-1) for b in batches]
    np.testing.assert_allclose(cases.measure_unfrozen_accuracy(found, batches), np.sum(right, axis=0) / len(classes))


@given(st.integers(1, 128), st.sampled_from([0.0, 1e-5, 1e-3, 1.0]), st.integers(0, 9999), st.floats(0, 1))
@settings(max_examples=3)
def test_whatever_the_setting_accuracies_are_shares(batch, eps, seed, share):
    job = NetworkTraining(batch, eps, seed)
    found = run_to_end(job)
    assert all(np.isfinite(array).all() for array in found.network.parameters)
    convention = KERAS if batch == 1 else PYTORCH
    for values in cases.measure_case_accuracies(found, job, convention, share).values():
        assert values.shape == (NETWORK_COUNT,)
        assert ((values >= 0) & (values <= 1)).all()


def test_pytorch_refuses_one_value():
    job = NetworkTraining(1, 1e-5, 0)
    with pytest.raises(InvalidInput, match="PyTorch refuses"):
        cases.measure_case_accuracies(run_to_end(job), job, PYTORCH, 0.1)


def test_no_digit_is_in_both_sets():
    assert len(network.load_input_rows()[0]) + len(network.load_input_rows(test=True)[0]) == 1797
    np.testing.assert_array_equal(network.load_input_rows(test=True)[1], load_digit_split(test=True)[1])
