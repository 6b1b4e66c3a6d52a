"""Schemes of the map trained with their twins: which ones, in which jobs, and what they say; a false rule shows."""

import pickle
from collections import Counter
from threading import Event

import numpy as np
import pytest
from emulation import emulate_graphs

from normviz.core import theory
from normviz.core.errors import InvalidInput
from normviz.core.rows import Row
from normviz.core.schemes import SCHEMES
from normviz.core.theory import Verdict
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.design import search, training
from normviz.design.search import WEIGHTS, census, searched
from normviz.design.training import FEW, SAMPLE, TOGETHER, Twins, plan, sampled, setting_of, total
from normviz.design.training_results import answers, by_set, columns, named, tally, told
from normviz.jobs.desk import Desk
from normviz.jobs.executors import threads
from normviz.jobs.spec import digest, finish
from normviz.networks import cost, devices, twins
from normviz.networks.problem import NETWORKS
from normviz.table1 import table

FRONTS = {"none": ("none",), "any": WEIGHTS}
NO_ANSWER = Row("custom", "own,groups(2),own,own", "own,groups(2),own,own")
"""Its fields lie in parts of pictures without ink, whose re-centred sums are rounding alone."""


def drawn(layer, count, seed):
    """Some schemes with anything in front, as one job."""
    every, rng = [*searched(layer, WEIGHTS)], np.random.default_rng(seed)
    chosen = [every[k] for k in rng.choice(len(every), count, replace=False)]
    rows, absorbed = zip(*((Row.of(scheme), each) for scheme, each in chosen), strict=True)
    return Twins(rows, absorbed, setting_of(layer, seed))


def absorbed(scheme, layer):
    """What the map says of a scheme."""
    return next(each for other, each in searched(layer) if Row.of(other) == scheme)


@pytest.mark.parametrize(("layer", "count"), [("dense", 24), ("conv", 9)])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_sample_does_as_the_rule_says(layer, count, seed):
    part = drawn(layer, count, seed)
    found = {part: finish(part)}
    assert not [told(each, layer) for each in answers(found) if not each.agrees]
    verdicts = tally([part], found)
    assert (verdicts.done, verdicts.of) == (6 * count, 6 * count)
    assert verdicts.unanswered <= verdicts.of / 50
    for each in answers(found):
        if not each.why:
            assert each.forward == each.trained == each.absorbed
            assert (each.training_gap < 1e-6) == each.absorbed


@pytest.mark.parametrize("key", TRANSFORMATIONS)
def test_a_false_rule_shows_for_its_scheme_alone(monkeypatch, key):
    part = plan("dense", ("none",), None)[0]
    wrong, real = part.rows[3], table.predict

    def predict(scheme, change, *rest):
        verdict = real(scheme, change, *rest)
        lies = (Row.of(scheme), change.key) == (wrong, key)
        return Verdict(not verdict.invariant, "by a false rule") if lies else verdict

    monkeypatch.setattr(table, "predict", predict)
    found = {part: finish(part)}
    (shown,) = answers(found, troubled=True)
    assert (shown.row, shown.transformation, shown.agrees) == (wrong, key, False)
    assert told(shown, "dense").startswith(f"{named(wrong, 'dense')}; {TRANSFORMATIONS[key].name}: ")
    disagree = {each: verdict.disagree for each, verdict in by_set([part], found).items()}
    assert disagree == {each: int(each == part.absorbed[3]) for each in part.absorbed}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("front", WEIGHTS)
def test_the_layer_that_is_trained_absorbs_what_the_map_says(layer, front):
    setting = setting_of(layer, 0)
    more = ("dataset-recentering",) if (layer, front) == ("conv", "weight-standardization") else ()
    for scheme, each in searched(layer, (front,)):
        if scheme.acts_on != "none":
            found = theory.absorbed(scheme, layer, setting.shapes[0], setting.weight_shapes[0])
            assert {*found} == {*each, *more}, scheme
            assert theory.degenerate(scheme, setting.shapes[0], 0.0) is None


def test_where_rounding_leaves_no_answer_it_says_so():
    part = Twins((NO_ANSWER,), (absorbed(NO_ANSWER, "conv"),), setting_of("conv", 0))
    found = {part: finish(part)}
    (shown,) = answers(found, troubled=True)
    assert (shown.transformation, shown.agrees, shown.trained) == ("dataset-recentering", True, None)
    assert "rounding" in shown.why
    assert "no answer" in told(shown, "conv")
    assert by_set([part], found)[part.absorbed[0]] == (0, 0, 1, 1, 1)
    assert tally([part], found) == (5, 0, 1, 6, 6)
    assert columns(found)["as predicted"].count(False) == 1


@pytest.mark.parametrize("key", WEIGHTS[1:])
def test_in_the_file_a_scheme_of_the_weights_has_no_fields_on_the_activations(key):
    row = Row.of(SCHEMES[key])
    part = Twins((row,), (search.invariances(row.scheme, "dense"),), setting_of("dense", 0))
    found = columns({part: finish(part)})
    assert {*found["summation"], *found["suppression"]} == {None}
    assert {*found["weights"]} == {key}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("front", FRONTS)
def test_a_sample_has_some_of_every_set_and_all_has_each_scheme_once(layer, front):
    weights = FRONTS[front]
    kinds = {kind.invariances: kind.schemes for kind in census(layer, weights)}
    sample, everything = plan(layer, weights, SAMPLE), plan(layer, weights, None)
    assert Counter(each for part in sample for each in part.absorbed) == {
        each: min(count, SAMPLE) for each, count in kinds.items()
    }
    assert Counter(each for part in everything for each in part.absorbed) == kinds
    rows = [row for part in everything for row in part.rows]
    assert len({*rows}) == len(rows) == total(layer, weights) == sum(kinds.values())
    assert max(len(part.rows) for part in everything) <= TOGETHER
    assert {*sample} <= {*everything}  # what a sample has run is not run again
    assert sampled(layer, weights) == (None if len(rows) <= FEW else SAMPLE)


@pytest.mark.parametrize("layer", LAYERS)
def test_the_first_job_has_the_simplest_of_every_set(layer):
    first = plan(layer, ("none",), SAMPLE)[0]
    simplest = {}
    for scheme, each in searched(layer):
        simplest.setdefault(each, Row.of(scheme))
    assert dict(zip(first.absorbed, first.rows, strict=True)) == simplest
    assert len(first.rows) == len(census(layer))


def test_a_seed_draws_the_same_again_and_another_draws_others():
    one = plan("conv", ("none",), SAMPLE, 1)
    training.columns.cache_clear()
    plan.cache_clear()
    assert [*map(digest, plan("conv", ("none",), SAMPLE, 1))] == [*map(digest, one)]
    assert {*one}.isdisjoint(plan("conv", ("none",), SAMPLE, 2))
    assert all(pickle.loads(pickle.dumps(part)) == part for part in one)
    with pytest.raises(InvalidInput, match="would do"):
        plan("conv", ("none",), SAMPLE, -1)


def test_the_numbers_of_the_jobs_sum_up():
    part = plan("dense", ("none",), None)[0]
    halves = [Twins(part.rows[k::2], part.absorbed[k::2], part.setting) for k in (0, 1)]
    found = {half: finish(half) for half in halves}
    assert by_set(halves, found) == by_set([part], {part: finish(part)})
    begun = by_set(halves, {halves[0]: found[halves[0]]})
    assert sum(each.done for each in begun.values()) == len(halves[0].rows)
    assert {each.of for each in begun.values()} == {1}
    assert tally(halves, {}) == (0, 0, 0, 0, 60)


def test_results_come_stack_by_stack_in_small_steps(monkeypatch):
    part = plan("dense", ("none",), None)[0]
    whole = finish(part)
    monkeypatch.setattr(cost, "rows", lambda setting, networks, budget: 4)
    steps = [(step.share, step.result()) for step in part.steps()]
    shares, done = [share for share, _ in steps], [len(arrays["agrees"]) for _, arrays in steps]
    assert shares == sorted(shares)
    assert (shares[-1], shares.count(1)) == (1, 1)
    assert sorted({*done}) == [0, 4, 8, 10]
    assert len(steps) > 3 * part.setting.steps
    last = steps[-1][1]
    assert all((last[name] == whole[name]).all() for name in ("forward", "trained", "agrees", "why"))
    assert str(last["device"]) == "CPU"


def test_nobody_who_wants_it_ends_it():
    with threads(1) as pool:
        told, begun = [], Event()
        part = plan("conv", ("none",), None)[3]
        ticket = Desk(pool, lease=60).submit([part], lambda job, arrays: (told.append(arrays), begun.set()))
        assert begun.wait(60)
        ticket.cancel()
        assert ticket.wait(60)
    assert float(told[-1]["share"]) < 1


def test_the_way_of_a_gpu_gives_the_same_answers(monkeypatch):
    part = plan("conv", ("none",), 1)[0]
    before = finish(part)
    emulate_graphs(monkeypatch)
    stacks, real = [], twins.training
    monkeypatch.setattr(devices, "measure_budget", lambda device: cost.device_budget(2**33, 1e11))
    monkeypatch.setattr(twins, "training", lambda schemes, *rest: stacks.append(len(schemes)) or real(schemes, *rest))
    after = finish(part)
    assert stacks == [len(part.rows)]
    assert all((after[name] == before[name]).all() for name in ("forward", "trained", "agrees", "why"))


@pytest.mark.parametrize("layer", LAYERS)
def test_a_job_is_one_stack_on_a_gpu(layer):
    budget = cost.device_budget(2**32, 1e11)
    assert cost.rows(setting_of(layer, 0), len(NETWORKS), budget) >= TOGETHER
    assert cost.fits_as_one(setting_of(layer, 0), TOGETHER, len(NETWORKS), budget)


def test_a_plan_makes_no_scheme_that_it_does_not_have(monkeypatch):
    made, real = [], search.made
    monkeypatch.setattr(search, "made", lambda *given: made.append(given) or real(*given))
    total("conv", WEIGHTS)
    parts = plan.__wrapped__("conv", WEIGHTS, SAMPLE, 77)
    assert len(made) == sum(len(part.rows) for part in parts)
