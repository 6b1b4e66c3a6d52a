from dataclasses import replace

import numpy as np
import pytest
import torch

from normviz.core.registry import SCHEMES
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.weight_decay import Outcome, Setting, is_length_invariant, list_jobs, report
from normviz.topics.experiments.weight_decay_jobs import (
    BATCH_SIZE,
    DECAYED,
    LAYER_WIDTHS,
    PLAIN,
    RAISED,
    RANDOM_LABEL_SHARE,
    ROUNDED,
    TRAINING_DIGITS,
    TWIN_NAMES,
    compute_twin_gaps,
)

TINY = Setting(seeds=2, steps=20, schemes=("none", "batch"))


def made_up(setting, **apart):
    """Return results with these gaps of every scheme's twins: (plain, raised, rounded).

    Test errors are 20% with weight decay, and higher by a tenth of the gap without it.
    """
    results = {}
    for part in list_jobs(setting):
        gaps = np.zeros((2, len(TWIN_NAMES), setting.seeds))
        for twin, gap in zip((PLAIN, RAISED, ROUNDED), apart[part.row.key], strict=True):
            gaps[-1, twin] = gap
        errors = 0.2 + np.where(gaps[-1:] > 1e-9, np.minimum(gaps[-1:], 1) / 10, 0)
        results[part] = {
            "losses": 1 - gaps / 2, "gaps": gaps, "errors": errors, "measured": np.array([1, 20]),
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return results


SEPARATE, SAME, LOST = (0.5, 0.4, 1e-15), (0.5, 1e-14, 1e-14), (0.5, 0.4, 0.3)


@pytest.mark.parametrize(
    ("none", "batch", "eps", "word"),
    [
        (SEPARATE, SAME, 0.0, "holds"),
        (LOST, SAME, 0.0, "holds"),
        (SAME, SAME, 0.0, "wrong"),
        (SEPARATE, SEPARATE, 0.0, "wrong"),
        (SEPARATE, (0.5, 0.4, 1e-15), 0.1, "open"),
        (SEPARATE, (0.5, 0.01, 1e-15), 1e-5, "holds-if"),
        (SEPARATE, LOST, 0.0, "open"),
        (SEPARATE, (0.0, 0.0, 0.0), 0.0, "open"),
        (SEPARATE, (np.inf, np.inf, np.inf), 0.0, "open"),
    ],
)
def test_the_verdict_is_that_of_the_twins(none, batch, eps, word):
    setting = Setting(schemes=("none", "batch"), eps=eps)
    told = report(setting, made_up(setting, none=none, batch=batch))
    assert told.verdict.word == word
    assert len(set(map(len, told.table.values()))) == 1
    assert [shown.key for shown in told.figures] == ["errors", "rates", "losses", "gaps"]


def test_others_are_judged_in_place_of_batch_norm():
    setting = Setting(schemes=("none", "layer"), eps=0.0)
    told = report(setting, made_up(setting, none=SEPARATE, layer=(0.5, 0.0, 1e-15)))
    assert told.verdict.word == "holds"
    assert "Batch norm is not among the schemes" in told.verdict.says
    assert "Layer norm: test error 20.0" in told.verdict.says


def test_the_headline_and_figure_say_the_test_errors():
    results = made_up(TINY, none=SEPARATE, batch=SAME)
    assert report(TINY, results).headline == "No: with batch norm, weight decay acts only like a higher learning rate."
    batch = results[list_jobs(TINY)[1]]
    batch["errors"] = batch["errors"].copy()
    batch["errors"][-1, PLAIN] = 0.15, 0.28  # no clear difference
    told = report(TINY, results)
    assert told.headline == "No: decay clearly lowers test error only without batch norm, from 25.0% to 20.0%."
    assert told.verdict.why.endswith("like a higher learning rate. This makes no clear difference here.")
    panels = told.figures[0].panels
    assert [panel.title for panel in panels] == ["Batch norm", "No normalization"]
    assert panels[1].names == ["no decay<br>mean 25.0%", "weight decay<br>mean 20.0%"]
    assert told.figures[1].panels[1].names == ["weight decay<br>mean 20.0%", "higher rate<br>mean 24.0%"]
    assert panels[0].span == panels[1].span
    apart = report(TINY, made_up(TINY, none=LOST, batch=SEPARATE))
    assert apart.headline == "With batch norm, weight decay does more than raise the learning rate."
    assert "smaller weights change the outputs" in apart.verdict.why
    assert "Batch norm: test error 20.0 ± 0.0% with weight decay, 25.0 ± 0.0% without" in apart.verdict.says
    assert "by up to 0.4." in apart.verdict.says


def test_nothing_is_said_while_a_scheme_is_missing():
    results = made_up(TINY, none=SEPARATE, batch=SAME)
    assert report(TINY, {}).verdict.word == "open"
    assert report(TINY, dict(list(results.items())[:1])).verdict.word == "open"


def test_a_loss_that_is_no_number_is_an_infinite_gap():
    losses = np.ones((len(TWIN_NAMES), 1))
    losses[RAISED] = np.nan
    assert compute_twin_gaps(losses)[:, 0].tolist() == [0, 0, np.inf, 0]
    losses[DECAYED] = np.nan
    assert Outcome(compute_twin_gaps(losses), losses, losses).twin_relation == "diverged"
    assert Outcome(np.zeros_like(losses), losses, np.zeros_like(losses)).twin_relation == "nothing"


def test_who_is_invariant_is_the_rule_of_table_1():
    setting = Setting()
    blind = {row.key for row in Setting(schemes=tuple(SCHEMES)).rows if is_length_invariant(setting, row)}
    assert "none" not in blind
    assert {"batch", "layer", "group", "rms", "weight", "spectral", "layer-weight"} <= blind


def test_the_twins_with_batch_norm_are_one_function_and_those_without_are_not():
    results = {part: run_to_end(part) for part in list_jobs(TINY)}
    none, batch = map(Outcome.of, results.values())
    assert none.twin_relation == "apart"
    assert batch.twin_relation == "same"
    assert batch.gaps[RAISED].max() < 1e-12 < 1e-6 < batch.gaps[PLAIN].min()
    assert np.array_equal(batch.errors[RAISED], batch.errors[DECAYED])
    assert report(TINY, results).verdict.word == "holds"
    first = list_jobs(TINY)[1]
    alone = run_to_end(replace(first, networks=first.networks[1:]))
    np.testing.assert_allclose(alone["losses"][..., 0], results[first]["losses"][..., 1], rtol=1e-9)
    np.testing.assert_array_equal(alone["errors"][..., 0], results[first]["errors"][..., 1])


def test_weight_decay_is_that_of_torch_optim():
    """The run with weight decay, against nn.BatchNorm1d and torch.optim.SGD with weight_decay."""
    from normviz.train.dense import Dense
    from normviz.train.small_training_set import SmallTrainingSet

    setting = replace(TINY, eps=1e-3, rate=0.2, decay=0.1, schemes=("batch",))
    (part,) = list_jobs(setting)
    ours = run_to_end(part)
    cpu = torch.device("cpu")
    first = Dense([SCHEMES["batch"]], setting.networks, LAYER_WIDTHS, BATCH_SIZE, 0.0, cpu, torch.float64)
    sizes = [64, *LAYER_WIDTHS, 10]
    linear = [torch.nn.Linear(sizes[k], sizes[k + 1], bias=k == 2, dtype=torch.float64) for k in range(3)]
    norms = [torch.nn.BatchNorm1d(64, eps=1e-3, dtype=torch.float64) for _ in range(2)]
    for layer, weights in zip(linear, first.weights, strict=True):
        layer.weight.data = weights[0, 1].mT.clone()
    torch.nn.init.zeros_(linear[2].bias)
    network = torch.nn.Sequential(
        linear[0], norms[0], torch.nn.ReLU(), linear[1], norms[1], torch.nn.ReLU(), linear[2]
    )  # fmt: skip
    others = [*linear[2].parameters(), *(each for norm in norms for each in norm.parameters())]
    groups = [{"params": [layer.weight for layer in linear[:2]], "weight_decay": 0.1}, {"params": others}]
    optimizer = torch.optim.SGD(groups, lr=0.2)
    digits = SmallTrainingSet(
        setting.networks, TRAINING_DIGITS, BATCH_SIZE, cpu, RANDOM_LABEL_SHARE, torch.float64
    )  # fmt: skip
    theirs = []
    for x, labels in digits.iterate_batches(setting.steps):
        loss = torch.nn.functional.cross_entropy(network(x[1]), labels[1])
        theirs.append(loss.item())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    assert len(theirs) == 20
    assert ours["losses"][-1, DECAYED, 1] == pytest.approx(np.mean(theirs), rel=1e-9)


def test_the_higher_rate_ends_at_the_stated_factor():
    setting = Setting(rate=0.1, decay=0.02, steps=500)
    assert setting.final_raise == pytest.approx(7.39, abs=0.01)
    told = report(setting, made_up(setting, none=SEPARATE, batch=SAME))
    assert "a learning rate that grows 7.4-fold" in told.figures[1].caption


def test_with_batch_norm_the_effect_of_decay_is_that_of_the_higher_rate():
    results = made_up(TINY, none=SEPARATE, batch=SAME)
    told = report(TINY, results)
    assert told.verdict.why.endswith("higher learning rate. This lowers the error here.")


def test_no_name_in_the_legend_is_that_of_a_scheme():
    told = report(TINY, made_up(TINY, none=SEPARATE, batch=SAME))
    panels = [panel for figure in told.figures for panel in figure.panels]
    curves = {word for panel in panels for curve in panel.curves for word in curve.name.lower().split(", ")}
    assert {panel.title for panel in panels} == {"No norm", "Batch", "No normalization", "Batch norm"}
    assert curves.isdisjoint(scheme.label.lower() for scheme in SCHEMES.values())
