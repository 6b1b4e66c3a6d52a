"""Batch size: what follows from made-up results, and the noise of a mini-batch."""

from dataclasses import replace

import numpy as np
import pytest

from normviz.core.errors import InvalidInput
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.batch_size import (
    BATCH_SIZES,
    EXPERIMENT,
    LEARNING_RATES,
    REFERENCE_SIZE,
    SHOWN_SIZES,
    SMALL_SIZES,
    BatchStatisticsNoise,
    Setting,
    list_jobs,
    report,
)
from normviz.topics.experiments.dense_grid import DenseGrid
from normviz.topics.experiments.figures import draw_figure

SETTING = Setting(seeds=4, schemes=("none", "batch", "layer"))
OFF = np.array([0.0, 0.002, -0.001, 0.001])
"""What seeds differ by."""
BEST = 2
"""The position of the rate with the lowest validation error in made-up results."""


def made_up(batch, layer, setting=SETTING):
    """Return results whose test errors at the best rate are those of two functions of the batch size."""
    found = {}
    wanted = [part for part in list_jobs(setting) if isinstance(part, DenseGrid)]
    for part in wanted:
        k = setting.rows.index(part.row)
        # Each seed has an offset of its own, which schemes share, and a little that they do not.
        errors = [0.03, batch(part.batch), layer(part.batch)][k] + OFF + 0.1 * np.roll(OFF, k)
        test = np.stack([errors if rate == BEST else errors * 0 for rate in range(len(LEARNING_RATES))])[None]
        validation = np.stack([errors + (rate != BEST) for rate in range(len(LEARNING_RATES))])[None]
        found[part] = {
            "losses": validation, "validation": validation, "test": test, "measured": np.array([1]),
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return found


def verdict(batch, layer=lambda n: 0.02):
    return report(SETTING, made_up(batch, layer)).verdict


def word(batch, layer=lambda n: 0.02):
    return verdict(batch, layer).word


def test_batch_norm_that_suffers_from_few_examples_holds():
    assert word(lambda n: 0.02 + 1 / n) == "holds"


def test_what_small_batches_cost_all_is_not_batch_norms():
    assert word(lambda n: 0.02 + 1 / n, lambda n: 0.02 + 1 / n) == "open"
    assert word(lambda n: 0.5 - n / 600, lambda n: 0.3 - n / 600) == "open"  # worse by as much at all sizes
    assert word(lambda n: 0.02, lambda n: 0.02 + (n == 128) / 10) == "open"  # the other is worse, on many


@pytest.mark.parametrize("small", SMALL_SIZES)
def test_what_is_seen_at_one_small_size_only_is_a_condition(small):
    found, other = verdict(lambda n: 0.3 if n == small else 0.02), sum(SMALL_SIZES) - small
    assert (found.word, found.text) == ("holds-if", f"Holds for batches of {small}. For {other}, this is not clear")


def test_batch_norm_that_is_better_on_few_is_wrong():
    assert word(lambda n: 0.02, lambda n: 0.02 + 1 / n) == "wrong"


def test_levels_and_differences_are_said_at_both_small_sizes_and_at_the_large_one():
    says = verdict(lambda n: 0.45 if n == 2 else 0.02).says
    assert "batches of 2, 45.1 ± 0.2% with batch norm, 2.1 ± 0.2% with layer norm (a difference of 43" in says
    assert "batches of 4, 2.1 ± 0.2% with batch norm, 2.1 ± 0.2% with layer norm (no clear difference)" in says
    assert "batches of 128, 2.1 ± 0.2% and 2.1 ± 0.2%." in says


@pytest.mark.parametrize(
    ("batch", "headline"),
    [
        (
            lambda n: {2: 0.41, 128: 0.01}.get(n, 0.02),
            "Batch norm does: 41% errors with batches of two, layer norm 2.1%.",
        ),
        (
            lambda n: 0.02 + 0.1 * (n < 9) - 0.01 * (n > 16),
            "Batch norm does: 12% errors with batches of two, layer norm 2.1%.",
        ),
        (lambda n: 0.3, "Layer norm beats batch norm at every batch size."),
        (lambda n: 0.01 + 0.01 * (n != 2), "Batch norm beats layer norm at batch size 2."),
        (lambda n: 0.02, "Batch norm and layer norm: no clear difference at any batch size."),
    ],
)
def test_the_headline_is_on_all_sizes(batch, headline):
    assert report(SETTING, made_up(batch, lambda n: 0.02)).headline == headline


def test_the_caption_names_the_sizes_without_a_difference_and_those_where_batch_norm_is_better():
    found = report(SETTING, made_up(lambda n: {2: 0.41, 128: 0.01}.get(n, 0.02), lambda n: 0.02))
    assert (
        found.figures[0].caption
        == "At 4 to 64 batch norm and layer norm do not clearly differ; at 128 batch norm has the lower error."
    )


def test_the_headline_is_that_of_the_smallest_size_until_all_are_trained():
    found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.02)
    small = {part: result for part, result in found.items() if getattr(part, "batch", 0) != 4}
    assert report(SETTING, small).headline == "Batches of 2: batch norm has 52% test error, layer norm 2%."
    large = {part: result for part, result in found.items() if getattr(part, "batch", 128) == 128}
    assert report(SETTING, large).headline.startswith("Batches of 128: batch norm has 3% test error")


def test_its_test_says_what_is_the_same_for_all_batch_sizes():
    assert "show them fewer digits" in EXPERIMENT.test(replace(SETTING, equal="steps"))
    assert "take more steps" in EXPERIMENT.test(replace(SETTING, equal="examples"))


def test_the_error_axis_starts_at_0():
    found = report(SETTING, made_up(lambda n: 0.02, lambda n: 0.02)).figures
    figure = draw_figure(next(each for each in found if each.key == "sizes"))
    titles = [figure.layout[axis]["title"]["text"] for axis in ("xaxis", "yaxis")]
    assert titles == ["batch size (log scale)", "test error, %"]
    assert figure.layout["yaxis"]["autorangeoptions"] == {"include": [0.0]}


def test_nothing_is_said_before_the_end_or_without_two_to_compare():
    found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.02)
    found.pop(next(iter(found)))
    assert report(SETTING, found).verdict.word == "open"
    alone = replace(SETTING, schemes=("none", "weight", "instance"))
    assert "To judge the claim" in report(alone, made_up(lambda n: 0.02, lambda n: 0.9, alone)).verdict.says
    assert report(SETTING, made_up(lambda n: 0.02, lambda n: 0.02)).verdict.word == "open"


def test_a_scheme_that_does_not_learn_is_named():
    setting = replace(SETTING, schemes=("none", "batch", "instance"))
    found = made_up(lambda n: 0.02 + 1 / n, lambda n: 0.9, setting)
    (caption,) = (figure.caption for figure in report(setting, found).figures if figure.key == "sizes")
    assert "instance norm" in caption
    assert "no normalization" in report(setting, found).verdict.says  # with what batch norm is compared instead


def test_the_table_names_the_rate_that_validation_digits_chose():
    table = report(SETTING, made_up(lambda n: 0.02 + 1 / n, lambda n: 0.02)).table
    assert {len(column) for column in table.values()} == {len(BATCH_SIZES) * SETTING.seeds}
    assert set(table["batch, learning rate"]) == {LEARNING_RATES[BEST]}


def test_the_same_number_of_steps_or_of_examples():
    equal = replace(SETTING, equal="steps")
    assert {part.length for part in list_jobs(equal) if isinstance(part, DenseGrid)} == {SETTING.steps}
    equal = replace(SETTING, steps=256)
    assert {part.batch * part.length for part in list_jobs(equal) if isinstance(part, DenseGrid)} == {
        256 * REFERENCE_SIZE
    }


def test_groups_of_examples_have_to_fit_all_sizes():
    with pytest.raises(InvalidInput, match="N"):
        Setting(schemes=("custom",), own="groups(4),full,full,own|groups(4),full,full,own")


def test_the_mean_of_few_examples_is_off_by_one_over_the_root_of_their_number():
    found = run_to_end(BatchStatisticsNoise((0, 1, 2)))
    np.testing.assert_allclose(found["mean"], np.tile(np.array(BATCH_SIZES)[:, None] ** -0.5, 3), rtol=0.1)
    assert (np.diff(found["deviation"], axis=0) < 0).all()


def test_the_noise_is_that_of_the_networks_first_weights():
    from normviz.train.dense import load_digit_rows
    from normviz.train.learning import sample_initial_weights

    first = sample_initial_weights((7,), 1, 64, 64, scale=(2 / 64) ** 0.5, part=0)[0, 0].double().numpy()
    x = load_digit_rows()[0].double().numpy()
    summed = x @ first
    chosen = np.random.default_rng([7, 3]).integers(len(x), size=(200, BATCH_SIZES[0]))
    off = (summed[chosen].mean(1) - summed.mean(0)) / summed.std(0)
    assert run_to_end(BatchStatisticsNoise((7,)))["mean"][0, 0] == pytest.approx(np.sqrt(np.mean(off**2)), rel=1e-4)


def test_the_pair_comes_first():
    sizes = [part.batch for part in list_jobs(SETTING) if isinstance(part, DenseGrid)]
    assert [*dict.fromkeys(sizes[: len(SHOWN_SIZES) * len(SETTING.rows)])] == list(SHOWN_SIZES)
