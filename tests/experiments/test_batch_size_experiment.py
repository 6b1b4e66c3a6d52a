"""Batch size: what follows from made-up results, the noise of a mini-batch, and a tiny run."""

from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.core.rows import Row
from normviz.experiments.batch_size import MIDDLE, PAIR, SIZES, Noise, Part, Setting, parts, report
from normviz.jobs.spec import finish

SETTING = Setting(seeds=4, schemes=("none", "batch", "layer"))
OFF = np.array([0.0, 0.002, -0.001, 0.001])
"""What seeds differ by."""


def made_up(batch, layer, setting=SETTING):
    """Results whose errors are those of two functions of the batch size; losses are as large."""
    found = {}
    for part in parts(setting):
        if isinstance(part, Part):
            middle = [0.03, batch(part.batch), layer(part.batch)][: len(setting.rows)]
            # Each seed has an offset of its own, which schemes share, and a little that they do not.
            each = np.array(middle)[:, None] + OFF + 0.1 * np.stack([OFF, np.roll(OFF, 1), np.roll(OFF, 2)])
            found[part] = result(each[None])
    return found


def result(errors, share=1.0):
    steps = np.arange(1, len(errors) + 1)
    return {"losses": errors, "errors": errors, "measured": steps, "share": np.array(share), "device": np.array("CPU")}


def word(batch, layer=lambda n: 0.02):
    return report(SETTING, made_up(batch, layer)).verdict.word


def test_batch_norm_that_suffers_from_few_examples_holds():
    assert word(lambda n: 0.02 + 1 / n) == "holds"


def test_what_small_batches_cost_all_is_not_batch_norms():
    assert word(lambda n: 0.02 + 1 / n, lambda n: 0.02 + 1 / n) == "open"
    assert word(lambda n: 0.5 - n / 600, lambda n: 0.3 - n / 600) == "open"  # worse by as much at all sizes
    assert word(lambda n: 0.02, lambda n: 0.02 + (n == 128) / 10) == "open"  # the other is worse, on many


def test_that_all_end_worse_on_few_is_said_where_they_do_so_with_equal_steps():
    for equal, extra, said in (("steps", 1, True), ("steps", 0, False), ("examples", 1, False)):
        setting = replace(SETTING, equal=equal)
        found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.02, setting)
        for part, each in found.items():
            each["errors"] = each["errors"] + extra / part.batch
        assert ("All schemes end worse on small" in report(setting, found).verdict.condition) == said


def test_what_is_seen_at_one_small_size_or_in_the_loss_only_is_a_condition():
    assert word(lambda n: 0.3 if n == 4 else 0.02) == "holds-if"
    found = made_up(lambda n: 0.02, lambda n: 0.02)
    for part, each in found.items():
        if part.batch == 4:
            each["losses"] = each["losses"] * np.array([1, 10, 1])[:, None]
    verdict = report(SETTING, found).verdict
    assert verdict.word == "holds-if"
    assert "Only the training loss of batch norm is clearly worse on batches of 4." in verdict.says


def test_batch_norm_that_is_better_on_few_is_wrong():
    assert word(lambda n: 0.02, lambda n: 0.02 + 1 / n) == "wrong"


def test_nothing_is_said_before_the_end_or_without_two_to_compare():
    found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.02)
    found.pop(next(iter(found)))
    assert report(SETTING, found).verdict.word == "open"
    alone = replace(SETTING, schemes=("none", "weight", "instance"))
    assert "takes two" in report(alone, made_up(lambda n: 0.02, lambda n: 0.9, alone)).verdict.says
    assert report(SETTING, made_up(lambda n: 0.02, lambda n: 0.02)).verdict.word == "open"


def test_a_scheme_that_does_not_learn_is_named():
    setting = replace(SETTING, schemes=("none", "batch", "instance"))
    found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.9, setting)
    (caption,) = (figure.caption for figure in report(setting, found).figures if figure.key == "sizes")
    assert "Instance" in caption
    assert "no normalization" in report(setting, found).verdict.says  # what batch norm is held against instead


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_losses_that_are_no_numbers(bad):
    found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.02)
    for each in found.values():
        each["losses"] = np.full_like(each["losses"], bad)
    shown = report(SETTING, found)
    assert shown.verdict.word == "holds"
    assert {len(column) for column in shown.table.values()} == {len(SIZES) * SETTING.seeds}


def test_the_same_number_of_steps_or_of_examples():
    assert {part.length for part in parts(SETTING) if isinstance(part, Part)} == {SETTING.steps}
    equal = replace(SETTING, equal="examples", steps=256)
    assert {part.batch * part.length for part in parts(equal) if isinstance(part, Part)} == {256 * MIDDLE}


def test_groups_of_examples_have_to_fit_all_sizes():
    with pytest.raises(InvalidInput, match="N"):
        Setting(schemes=("custom",), own="groups(4),full,full,own|groups(4),full,full,own")


def test_the_mean_of_few_examples_is_off_by_one_over_the_root_of_their_number():
    found = finish(Noise((0, 1, 2)))
    np.testing.assert_allclose(found["mean"], np.tile(np.array(SIZES)[:, None] ** -0.5, 3), rtol=0.1)
    assert (np.diff(found["deviation"], axis=0) < 0).all()


def test_the_noise_is_that_of_the_networks_first_weights():
    from normviz.networks.dense import rows
    from normviz.networks.learning import started

    first = started((7,), 1, 64, 64, scale=(2 / 64) ** 0.5, part=0)[0, 0].double().numpy()
    x = rows()[0].double().numpy()
    summed = x @ first
    chosen = np.random.default_rng([7, 3]).integers(len(x), size=(200, SIZES[0]))
    off = (summed[chosen].mean(1) - summed.mean(0)) / summed.std(0)
    assert finish(Noise((7,)))["mean"][0, 0] == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-4)


def test_a_tiny_run_is_the_same_again_and_with_other_schemes_beside():
    rows = tuple(Row.of(row.scheme) for row in SETTING.rows)
    part = Part(rows, (3, 4), 8, 12, 0.003, 1e-5, "cpu")
    seen = [step.result() for step in part.steps()]
    np.testing.assert_allclose([each["share"] for each in seen], np.arange(1, 13) / 12)
    first, last = seen[0], seen[-1]
    assert first["errors"].shape == last["errors"][:1].shape == (1, 3, 2)
    assert last["losses"][-1].max() < last["losses"][0].min()
    again = finish(part)
    assert_repeated(last, again)
    alone = finish(replace(part, rows=rows[1:2], networks=(4,)))
    np.testing.assert_allclose(alone["losses"][:, 0, 0], last["losses"][:, 1, 1], rtol=1e-4)


def test_the_pair_comes_first():
    assert [part.batch for part in parts(SETTING)[:2]] == list(PAIR)
