"""Schemes trained with their twins: the sample, the jobs, the answers and their counts; a false rule shows."""

import pickle
from collections import Counter
from dataclasses import replace
from threading import Event

import numpy as np
import pytest
from emulation import emulate_graphs

from normviz.core import theory
from normviz.core.errors import InvalidInput
from normviz.core.scheme_spec import SchemeSpec
from normviz.core.theory import Prediction
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.design import search, training
from normviz.topics.design.demands import WEIGHT_KEYS, Demands
from normviz.topics.design.search import find_schemes, take_census
from normviz.topics.design.training import FIRST_SAMPLE_SIZE, MAX_JOB_SCHEMES, TwinTraining, list_training_jobs
from normviz.topics.design.training_results import (
    TwinCount,
    count_results_by_invariances,
    describe_exceptions,
    list_invariance_checks,
)
from normviz.topics.design.wording import format_scheme_line
from normviz.topics.table1 import table
from normviz.train import compiled, cost, devices, twins
from normviz.train.problem import NETWORKS

FRONTS = {"none": ("none",), "any": WEIGHT_KEYS}
NO_ANSWER = SchemeSpec("custom", "own,groups(2),own,own", "own,groups(2),own,own")
"""Its fields lie in parts of pictures without ink, whose re-centred sums are rounding alone."""


def draw_job(layer, count, seed):
    """Return a job of random schemes, with any scheme of the weights in front."""
    every, rng = [*find_schemes(Demands(layer, weights=WEIGHT_KEYS))], np.random.default_rng(seed)
    chosen = [every[k] for k in rng.choice(len(every), count, replace=False)]
    rows, absorbed = zip(*((SchemeSpec.of(scheme), each) for scheme, each in chosen), strict=True)
    return TwinTraining(rows, absorbed, setting_of(layer, seed))


def setting_of(layer, seed=0):
    return list_training_jobs(layer, seed=seed)[0].setting


def count_answers(results):
    """Return how many answers agree, differ and are missing."""
    found = list_invariance_checks(results)
    wrong, missing = sum(not each.agrees for each in found), sum(each.agrees and each.why != "" for each in found)
    return len(found) - wrong - missing, wrong, missing


@pytest.mark.parametrize(("layer", "count"), [("dense", 24), ("conv", 9)])
@pytest.mark.parametrize("seed", [1, 2])
def test_a_random_sample_does_as_the_rule_says(layer, count, seed):
    part = draw_job(layer, count, seed)
    found = {part: run_to_end(part)}
    assert describe_exceptions(found, layer)[0] == []
    agree, wrong, missing = count_answers(found)
    assert agree + wrong + missing == 6 * count
    assert missing <= 6 * count / 50
    for each in list_invariance_checks(found):
        if not each.why:
            assert each.forward == each.trained == each.predicted
            assert (each.training_gap < 1e-6) == each.predicted


def test_the_answers_are_those_of_table_1(monkeypatch):
    part, cells = list_training_jobs("dense", sample=1)[0], []

    def shown(*given):
        cells.extend(replace(cell, trained=None) for cell in table.build_cells(*given))
        return cells

    monkeypatch.setattr(training, "build_cells", shown)
    names = ("predicted", "forward", "trained", "forward_gap", "training_gap", "agrees")
    found = list_invariance_checks({part: run_to_end(part)})
    assert [[getattr(each, name) for name in names] for each in found] == [
        [getattr(cell, name) for name in names] for cell in cells
    ]
    assert {each.trained for each in found} == {None}
    assert {each.forward for each in found} == {True, False}


@pytest.mark.parametrize("key", TRANSFORMATIONS)
def test_a_false_rule_shows_for_its_scheme_alone(monkeypatch, key):
    part = list_training_jobs("dense")[0]
    wrong, real = part.rows[3], table.predict

    def predict(scheme, change, *rest):
        verdict = real(scheme, change, *rest)
        lies = (SchemeSpec.of(scheme), change.key) == (wrong, key)
        return Prediction(not verdict.invariant, "by a false rule") if lies else verdict

    monkeypatch.setattr(table, "predict", predict)
    found = {part: run_to_end(part)}
    (shown,) = [each for each in list_invariance_checks(found) if not each.agrees]
    assert (shown.row, shown.transformation) == (wrong, key)
    ((sentence,), missing) = describe_exceptions(found, "dense")
    assert sentence.startswith(f"{format_scheme_line(wrong.scheme, 'dense')}; {TRANSFORMATIONS[key].name}: ")
    assert f"{'invariant' if shown.predicted else 'not invariant'} in theory" in sentence
    assert missing == []
    disagree = {each: count.disagree for each, count in count_results_by_invariances([part], found).items()}
    assert disagree == {each: int(each == part.absorbed[3]) for each in part.absorbed}


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("front", WEIGHT_KEYS)
def test_the_layer_that_is_trained_has_the_invariances_of_the_census(layer, front):
    setting = setting_of(layer)
    more = ("dataset-recentering",) if (layer, front) == ("conv", "weight-standardization") else ()
    for scheme, each in find_schemes(Demands(layer, weights=(front,))):
        if not scheme.is_baseline:
            found = theory.find_invariances(scheme, layer, setting.shapes[0], setting.weight_shapes[0])
            assert {*found} == {*each, *more}, scheme
            assert theory.explain_degeneracy(scheme, setting.shapes[0], 0.0) is None


def test_where_rounding_leaves_no_answer_it_says_so():
    absorbed = search.compute_invariances(NO_ANSWER.scheme, "conv")
    part = TwinTraining((NO_ANSWER,), (absorbed,), setting_of("conv"))
    found = {part: run_to_end(part)}
    (shown,) = [each for each in list_invariance_checks(found) if each.why]
    assert (shown.transformation, shown.agrees, shown.trained) == ("dataset-recentering", True, None)
    assert "rounding" in shown.why
    differing, (sentence,) = describe_exceptions(found, "conv")
    assert differing == []
    assert "no answer" in sentence
    assert count_results_by_invariances([part], found) == {absorbed: TwinCount(0, 0, 1, 1, 1)}
    assert count_answers(found) == (5, 0, 1)


@pytest.mark.parametrize("layer", LAYERS)
@pytest.mark.parametrize("front", FRONTS)
def test_a_sample_has_some_of_every_set_and_all_has_each_scheme_once(layer, front):
    weights = FRONTS[front]
    kinds = {kind.invariances: kind.schemes for kind in take_census(layer, weights)}
    sample, everything = list_training_jobs(layer, weights, FIRST_SAMPLE_SIZE), list_training_jobs(layer, weights)
    assert Counter(each for part in sample for each in part.absorbed) == {
        each: min(count, FIRST_SAMPLE_SIZE) for each, count in kinds.items()
    }
    assert Counter(each for part in everything for each in part.absorbed) == kinds
    rows = [row for part in everything for row in part.rows]
    assert len({*rows}) == len(rows) == sum(kinds.values())
    assert max(len(part.rows) for part in everything) <= MAX_JOB_SCHEMES
    assert {*sample} <= {*everything}  # what a sample has run is not run again


@pytest.mark.parametrize("layer", LAYERS)
def test_the_first_job_has_the_simplest_of_every_set(layer):
    first = list_training_jobs(layer, sample=FIRST_SAMPLE_SIZE)[0]
    simplest = {}
    for scheme, each in find_schemes(Demands(layer)):
        simplest.setdefault(each, SchemeSpec.of(scheme))
    assert dict(zip(first.absorbed, first.rows, strict=True)) == simplest
    assert len(first.rows) == len(take_census(layer))


def test_a_seed_draws_the_same_again_and_another_draws_others():
    one = list_training_jobs("conv", sample=FIRST_SAMPLE_SIZE, seed=1)
    training.order_schemes.cache_clear()
    list_training_jobs.cache_clear()
    assert [*map(compute_digest, list_training_jobs("conv", sample=FIRST_SAMPLE_SIZE, seed=1))] == [
        *map(compute_digest, one)
    ]
    assert {*one}.isdisjoint(list_training_jobs("conv", sample=FIRST_SAMPLE_SIZE, seed=2))
    assert all(pickle.loads(pickle.dumps(part)) == part for part in one)


@pytest.mark.parametrize("wrong", [{"seed": -1}, {"layer": "deep"}, {"weight_keys": ("x",)}, {"device": "abacus"}])
def test_a_plan_that_cannot_be_is_refused(wrong):
    with pytest.raises(InvalidInput, match="would do"):
        list_training_jobs(**{"layer": "conv", "sample": FIRST_SAMPLE_SIZE} | wrong)


def test_the_numbers_of_the_jobs_sum_up():
    part = list_training_jobs("dense")[0]
    halves = [TwinTraining(part.rows[k::2], part.absorbed[k::2], part.setting) for k in (0, 1)]
    found = {half: run_to_end(half) for half in halves}
    assert count_results_by_invariances(halves, found) == count_results_by_invariances([part], {part: run_to_end(part)})
    begun = count_results_by_invariances(halves, {halves[0]: found[halves[0]]})
    assert sum(each.done for each in begun.values()) == len(halves[0].rows)
    assert {each.of for each in begun.values()} == {1}
    assert {*count_results_by_invariances(halves, {}).values()} == {(0, 0, 0, 0, 1)}


def test_results_come_stack_by_stack_in_small_steps(monkeypatch):
    part = list_training_jobs("dense")[0]
    whole = run_to_end(part)
    monkeypatch.setattr(cost, "find_max_schemes", lambda setting, networks, budget: 4)
    steps = [(step.share, step.result()) for step in part.steps()]
    shares, done = [share for share, _ in steps], [len(arrays["agrees"]) for _, arrays in steps]
    assert shares == sorted(shares)
    assert (shares[-1], shares.count(1)) == (1, 1)
    assert sorted({*done}) == [0, 4, 8, 10]
    assert len(steps) > 3 * part.setting.steps
    last = steps[-1][1]
    assert all((last[name] == whole[name]).all() for name in ("forward", "trained", "agrees", "why"))
    assert str(last["device"]) == "CPU"


def test_a_cancelled_job_ends_between_steps():
    with create_thread_pool(1) as pool:
        reported, begun = [], Event()
        part = list_training_jobs("conv")[3]
        request = JobQueue(pool, lease=60).submit([part], lambda job, arrays: (reported.append(arrays), begun.set()))
        assert begun.wait(60)
        request.cancel()
        assert request.wait(60)
    assert float(reported[-1]["share"]) < 1


def test_the_way_of_a_gpu_gives_the_same_answers(monkeypatch):
    part = list_training_jobs("conv", sample=1)[0]
    before = run_to_end(part)
    emulate_graphs(monkeypatch)
    stacks, real = [], twins.train_stepwise
    monkeypatch.setattr(devices, "measure_budget", lambda device: cost.compute_gpu_budget(2**33, 1e11))
    monkeypatch.setattr(
        twins, "train_stepwise", lambda schemes, *rest: stacks.append(len(schemes)) or real(schemes, *rest)
    )
    after = run_to_end(part)
    assert stacks == [len(part.rows)]
    assert all((after[name] == before[name]).all() for name in ("forward", "trained", "agrees", "why"))


@pytest.mark.parametrize("on_gpu", [False, True])
def test_a_job_on_a_cpu_loads_the_compiled_kernels(monkeypatch, on_gpu):
    loaded = []
    monkeypatch.setattr(compiled, "start_loading", lambda: loaded.append(True))
    monkeypatch.setattr(training, "uses_gpu", lambda job: on_gpu)
    next(list_training_jobs("dense", sample=1)[0].steps())
    assert bool(loaded) == (not on_gpu)


@pytest.mark.parametrize("layer", LAYERS)
def test_a_job_is_one_stack_on_a_gpu(layer):
    budget = cost.compute_gpu_budget(2**32, 1e11)
    assert cost.find_max_schemes(setting_of(layer), len(NETWORKS), budget) >= MAX_JOB_SCHEMES
    assert cost.fits_one_block(setting_of(layer), MAX_JOB_SCHEMES, len(NETWORKS), budget)


def test_a_plan_makes_no_scheme_that_it_does_not_have(monkeypatch):
    made, real = [], search.build_scheme_from_fields
    monkeypatch.setattr(search, "build_scheme_from_fields", lambda *given: made.append(given) or real(*given))
    take_census("conv", WEIGHT_KEYS)
    parts = list_training_jobs.__wrapped__("conv", WEIGHT_KEYS, FIRST_SAMPLE_SIZE, 77)
    assert len(made) == sum(len(part.rows) for part in parts)
