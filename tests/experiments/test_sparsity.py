from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.experiments.sparsity import BOTH, PLAIN, SMOOTHING, VARIANTS, Setting, parts, report
from normviz.jobs.spec import digest, finish

TINY = Setting(seeds=2, steps=20, digits=32, schemes=("batch", "divisive"))
SCATTER = 0.002 * np.array([1, -1, 2, -2, 0, 1, -1, 0])


def made_up(setting, **changes):
    """Results in which both together change the error so much, for each scheme, and either alone nothing."""
    results = {}
    for name, part in zip(VARIANTS, parts(setting), strict=True):
        errors = np.array(
            [
                0.06 + (changes[row.key] if name == BOTH else 0) + SCATTER * (-1 if name != PLAIN else 1)
                for row in setting.rows
            ]
        )
        results[part] = {
            "measured": np.array([1, 2]), "errors": np.stack([errors] * 2), "share": np.array(1.0),
            "device": np.array("CPU"),
        }  # fmt: skip
    return results


@pytest.mark.parametrize(
    ("batch", "layer", "word"),
    [
        (-0.02, -0.02, "holds"),
        (-0.02, 0.0, "holds-if"),
        (-0.02, 0.02, "holds-if"),
        (0.0, 0.0, "open"),
        (0.0, 0.02, "wrong"),
        (np.nan, np.nan, "open"),
    ],
)
def test_the_verdict_is_that_of_the_paired_differences(batch, layer, word):
    setting = Setting(schemes=("batch", "layer"))
    told = report(setting, made_up(setting, batch=batch, layer=layer))
    assert told.verdict.word == word
    assert [shown.key for shown in told.figures] == ["changes", "curves"]
    assert len(set(map(len, told.table.values()))) == 1


def test_a_gain_is_said_with_its_interval():
    setting = Setting(schemes=("batch",))
    told = report(setting, made_up(setting, batch=-0.02))
    assert told.headline == "With a learned ε and an L1 term the mean test error goes: Batch from 6.0% to 4.0%."
    assert "both −2 ± 0.44 (better)" in told.verdict.says
    assert "L1 0 ± 0.44 (noise)" in told.verdict.says


def test_where_smoothing_alone_does_it_the_claim_of_both_holds_on_that_condition():
    setting = Setting(schemes=("batch",))
    results = made_up(setting, batch=-0.02)
    by_name = dict(zip(VARIANTS, parts(setting), strict=True))
    results[by_name[SMOOTHING]] = results[by_name[BOTH]]
    told = report(setting, results)
    assert told.verdict.word == "holds-if"
    assert "L1 to smoothing adds 0 ± 0 (noise)" in told.verdict.says


def test_what_is_not_trained_yet_is_not_judged():
    setting = Setting(schemes=("batch",))
    results = made_up(setting, batch=-0.02)
    for count in range(4):
        told = report(setting, dict(list(results.items())[:count]))
        assert told.verdict.word == "open"
        assert [shown.key for shown in told.figures] == ["changes", "curves"][count < 2 :][: 2 if count else 0]


def test_a_control_repeats_only_the_variants_that_it_changes():
    digests = [digest(part) for part in parts(TINY)]
    for change, same in (({"penalty": 0.5}, [True, True, False, False]), ({"first": 0.5}, [True, False, True, False])):
        others = [digest(part) for part in parts(replace(TINY, **change))]
        assert [ours == theirs for ours, theirs in zip(digests, others, strict=True)] == same


def test_a_tiny_run_gives_the_same_numbers_again_and_for_a_scheme_and_seed_alone():
    *_, part = parts(TINY)
    found, again = finish(part), finish(part)
    assert_repeated(found, again)
    alone = finish(replace(part, rows=part.rows[1:], networks=part.networks[1:]))
    np.testing.assert_allclose(alone["errors"][:, 0, 0], found["errors"][:, 1, 1], atol=0.01)
    assert report(TINY, {part: found}).verdict.word == "open"
