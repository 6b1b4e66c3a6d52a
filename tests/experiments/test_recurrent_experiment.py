import re
from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.experiments.experiment import Verdict
from normviz.experiments.recurrent import Setting, parts, report
from normviz.experiments.recurrent_jobs import BACK, SCALES, UNITS, Reading, waits
from normviz.jobs.spec import finish

TINY = Setting(seeds=2, steps=20, batch=8, wait=1, schemes=("none", "batch", "layer"))


def noisy(mean, seeds=5):
    return mean + 0.001 * np.linspace(-1, 1, seeds)


def made_up(setting, longer=(0.05, 0.09, 0.05), together=0.08, factors=(None, 0.9, 0.8), known=0.04):
    """Results of none, batch and layer: errors on longer sequences, with one statistic, and factors of a step back."""
    reading, back, layouts = parts(setting)
    trained = np.arange(len(waits(setting.wait)))[:, None] <= setting.wait
    each_known = np.broadcast_to(known, len(longer))
    by_step = np.stack(
        [np.where(trained, noisy(own), noisy(each)[::-1]) for own, each in zip(each_known, longer, strict=True)], axis=1
    )
    pooled = by_step.copy()
    pooled[:, 1] = noisy(together)[::-1]
    powers = np.arange(BACK)[::-1]
    norms = [
        np.stack([((scale if each is None else each) ** powers)[:, None] * np.ones(5) for each in factors], axis=1)
        for scale in SCALES
    ]
    done = {"share": np.array(1.0), "device": np.array("CPU")}
    losses = np.full((20, 3, 5), 0.5)
    return {
        reading: {"losses": losses, "by_step": by_step, "together": pooled, **done},
        back: {"norms": np.stack(norms), **done},
        layouts: {
            "losses": losses[:, :2], "spreads": np.ones((2, 5, UNITS)), "errors": np.stack([noisy(0.04)] * 2), **done
        },
    }  # fmt: skip


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_scheme_and_seed_alone():
    results = {part: finish(part) for part in parts(TINY)}
    for part, result in results.items():
        assert result["share"] == 1
        assert_repeated(result, finish(part))
    reading = parts(TINY)[0]
    alone = finish(replace(reading, rows=reading.rows[1:2], networks=reading.networks[1:]))
    np.testing.assert_allclose(alone["losses"][:, 0, 0], results[reading]["losses"][:, 1, 1], rtol=1e-3)
    told = report(TINY, results)
    assert [shown.key for shown in told.figures] == ["reading", "back", "layouts"]
    assert len(set(map(len, told.table.values()))) == 1
    assert isinstance(told.verdict, Verdict)


def test_nothing_is_said_before_anything_is_trained_and_curves_show_from_the_first_step():
    assert report(TINY, {}).verdict.word == "open"
    assert not report(TINY, {}).figures
    begun = {part: next(iter(part.steps())).result() for part in parts(TINY)}
    told = report(TINY, begun)
    assert told.verdict.word == "open"
    assert len(told.figures) == 3


def test_batch_norm_can_be_used_but_not_on_longer_sequences_and_a_factor_need_not_be_one():
    setting = Setting(schemes=("none", "batch", "layer"))
    told = report(setting, made_up(setting))
    assert told.verdict.word == "holds-if"
    assert "4% errors on lengths of the training" in told.verdict.says
    assert re.search("rise by 4 ± [^ ]* points more than with layer normalization[.]", told.verdict.says)
    assert "0.25 to 4 without normalization" in told.verdict.says
    assert "± is the 95% interval over 5 seeds." in told.verdict.condition
    assert "0.09 (Batch), 0.006 (Layer)" in told.verdict.says


def test_each_of_both_claims_has_a_verdict_of_its_own():
    setting = Setting(schemes=("none", "batch", "layer"))
    told = report(setting, made_up(setting, factors=(None, 1.0, 1.02)))
    assert {claim: told.verdict_on(claim).word for claim in ("B15", "L02")} == {"B15": "holds-if", "L02": "holds"}
    assert "longer sequences" in told.verdict_on("B15").says
    assert "longer sequences" not in told.verdict_on("L02").says
    assert told.verdict.says == f"{told.verdict_on('B15').says} {told.verdict_on('L02').says}"


def test_what_is_within_the_noise_leaves_it_open():
    setting = Setting(schemes=("none", "batch", "layer"))
    results = made_up(setting, longer=(0.05, 0.05, 0.05), together=0.04)
    told = report(setting, results)
    assert told.verdict.word == "open"
    assert "within the noise" in told.verdict.says


def test_batch_norm_that_does_not_learn_and_a_factor_of_one():
    setting = Setting(schemes=("none", "batch", "layer"))
    told = report(setting, made_up(setting, known=(0.04, 0.9, 0.04), factors=(None, 1.0, 1.02)))
    assert told.verdict.word == "holds"
    assert "does not learn" in told.verdict.says
    assert "neither vanishes nor explodes" in told.verdict.says


def test_where_no_scheme_learns_nothing_is_said_of_batch_norm():
    setting = Setting(schemes=("none", "batch", "layer"))
    told = report(setting, made_up(setting, known=0.9, factors=(None, 1.0, 1.02)))
    assert told.verdict.word == "open"
    assert "No scheme learns here" in told.verdict.says


def test_factors_that_move_with_the_scale_are_not_kept():
    for eps, word in ((1e-5, "holds-if"), (0.1, "open")):  # where ε is large, the layers are not invariant
        setting = Setting(schemes=("none", "batch", "layer"), eps=eps)
        told = report(setting, made_up(setting, factors=(None, None, None)))
        assert told.verdict.word == word
        assert "No scheme keeps" in told.verdict.says
        assert ("not invariant" in told.verdict.says) == (word == "open")


@pytest.mark.parametrize("number", [np.nan, 0.0, np.inf])
def test_networks_without_numbers_do_not_break_it(number):
    setting = Setting(schemes=("none", "batch", "layer"))
    results = made_up(setting)
    for result in results.values():
        for key in {"losses", "norms"} & set(result):
            result[key] = np.full_like(result[key], number)
    assert report(setting, results).verdict.word in ("open", "holds-if")


def test_groups_of_examples_have_to_fit_every_step():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("custom",), own="groups(64),full,full,own|groups(64),full,full,own")
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("group",), groups=64)


def test_the_gradient_at_the_start_does_not_depend_on_how_it_is_trained():
    assert parts(TINY)[1:2] == parts(replace(TINY, steps=30, rate=0.01, wait=3))[1:2]
    assert isinstance(parts(TINY)[0], Reading)
