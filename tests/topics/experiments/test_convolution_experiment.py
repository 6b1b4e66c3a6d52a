from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.charts.curves import draw_curve_panels
from normviz.core.errors import InvalidInput
from normviz.data.digits import DIGIT_SIDE
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.experiments.convolution import PADDINGS, Setting, list_jobs, make_grid_job, report
from normviz.topics.experiments.convolution_jobs import (
    LAYER_COUNT,
    LEARNING_RATES,
    average_by_distance,
    compute_border_distances,
)
from normviz.topics.experiments.convolution_verdict import Outcome

TINY = Setting(seeds=2, channels=4, batch=8, steps=20, schemes=("none", "batch", "layer"))
NOISE = 0.01 * np.array([1, -1, 2, 0, -2, 1, 0, -1])
BEST = 1
ORDER = {"none": 0.4, "batch": 0.2, "layer": 0.3}
HEADLINE = "{}: with layer norm, {}% of border units are on, {}% inside."


def made_up(setting=Setting(), padded=ORDER, mirrored=ORDER, contrast=(0.5, 1.0), errors=0.1, on=0.5):  # noqa: B008
    """Results in which schemes have these mean losses at the best rate, by padding, and the border these contrasts.

    `on`: the share of border units that are on; inside it is 0.5.
    """
    results, noise = {}, NOISE[: setting.seeds]
    slower = 0.1 * np.abs(np.arange(len(LEARNING_RATES)) - BEST)[:, None]
    for padding, losses, border in zip(PADDINGS, (padded, mirrored), contrast, strict=True):
        for k, row in enumerate(setting.rows):
            part = make_grid_job(setting, padding, k)
            loss = losses.get(row.key, 0.5) * (1 + noise[:: (-1) ** k]) + slower
            statistics = {}
            for layer in range(1, LAYER_COUNT + 1):
                values = np.ones((len(LEARNING_RATES), setting.seeds, DIGIT_SIDE // 2))
                statistics[f"on-{layer}"] = 0.5 * values
                statistics[f"on-{layer}"][..., 0] = on
                values[..., 0] = border * (1 + noise)
                statistics[f"deviation-{layer}"] = values
            results[part] = {
                "losses": np.stack([loss] * 2), "validation": np.stack([loss] * 2), "measured": np.array([10, 20]),
                "test": errors * loss, **statistics, "share": np.array(1.0), "device": np.array("CPU"),
            }  # fmt: skip
    return results


def judge(setting=Setting(steps=20), **how):  # noqa: B008
    return report(setting, made_up(setting, **how))


def test_distances_are_measured_from_the_nearest_edge():
    assert compute_border_distances(4).tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    maps = np.where(compute_border_distances(4) == 0, 1.0, 3.0)[None]
    np.testing.assert_allclose(average_by_distance(maps), [[1, 3]])


def test_inside_is_the_mean_over_all_positions_that_are_not_at_the_border():
    setting = Setting(seeds=2)
    maps = np.random.default_rng(0).random((len(LEARNING_RATES), 2, 8, 8))
    result = made_up(setting)[make_grid_job(setting, "constant", 0)] | {f"on-{LAYER_COUNT}": average_by_distance(maps)}
    border, inside = Outcome.of(setting, LEARNING_RATES, 0, result).average_border_and_inside("on")
    np.testing.assert_allclose(inside, maps[BEST, :, 1:-1, 1:-1].mean((1, 2)))
    np.testing.assert_allclose(28 * border + 36 * inside, maps[BEST].sum((1, 2)))


def test_validation_digits_choose_the_rate():
    setting = Setting(steps=20)
    results = made_up(setting)
    for result in results.values():
        result["validation"][:, 3] = 0.01
        result["test"][BEST] = 0.0
    table = report(setting, results).table
    assert set(table["learning rate"]) == {LEARNING_RATES[3]}
    assert min(table["test error"]) > 0


def test_the_loss_is_the_mean_over_all_steps_however_they_are_measured():
    setting = Setting(seeds=2, steps=20)
    result = made_up(setting)[make_grid_job(setting, "constant", 0)]
    result |= {"measured": np.array([1, 20]), "losses": np.stack([result["losses"][0], 0 * result["losses"][0]])}
    outcome = Outcome.of(setting, LEARNING_RATES, 0, result)
    np.testing.assert_allclose(outcome.mean_losses, result["losses"][0, BEST] / 20)


def test_another_choice_of_schemes_leaves_the_parts_of_the_others_as_they_are():
    first, second = (
        {compute_digest(part) for part in list_jobs(replace(TINY, schemes=keys))}
        for keys in (("batch", "layer"), ("layer", "rms"))
    )
    assert len(first & second) == len(PADDINGS)


def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone():
    setting = replace(TINY, learned="unit", schemes=("batch",))
    results = {part: run_to_end(part) for part in list_jobs(setting)}
    zeros, result = (results[make_grid_job(setting, padding, 0)] for padding in PADDINGS)
    assert result[f"deviation-{LAYER_COUNT}"].shape == (len(LEARNING_RATES), 2, DIGIT_SIDE // 2)
    assert not np.allclose(result["losses"], zeros["losses"])
    again, alone = (
        run_to_end(part := make_grid_job(setting, "reflect", 0)),
        run_to_end(replace(part, networks=part.networks[1:])),
    )
    assert_repeated(result, again)
    np.testing.assert_allclose(alone["losses"][:, :3, 0], result["losses"][:, :3, 1], rtol=1e-3)
    seen = report(setting, results)
    assert [shown.key for shown in seen.figures] == ["contrast", "curves"]
    assert len(set(map(len, seen.table.values()))) == 1
    assert len(seen.table["seed"]) == len(PADDINGS) * 2


def test_the_first_figure_is_there_when_one_network_has_begun():
    part = list_jobs(TINY)[0]
    for step in part.steps():
        result = step.result()
        seen = report(TINY, {part: result})
        assert seen.verdict.word == "open"
        if step.share > 0.1:
            break
    assert [shown.key for shown in seen.figures] == ["curves"]
    assert not report(TINY, {}).figures


def test_the_first_figure_has_the_share_of_units_that_are_on_by_distance_and_the_bound_of_rarely():
    (panel,) = judge(on=0.3).figures[0].panels
    assert [curve.name for curve in panel.curves] == ["batch norm", "layer norm"]
    for curve in panel.curves:
        np.testing.assert_allclose(curve.y, [30, 50, 50, 50])
    assert panel.levels == (25,)
    assert len(set(panel.pictures)) == len(panel.names) == DIGIT_SIDE // 2


def test_a_figure_has_layer_norms_loss_over_batch_norms():
    (panel,) = judge(mirrored={"none": 0.4, "batch": 0.2, "layer": 0.35}).figures[1].panels
    (points,) = panel.curves
    np.testing.assert_allclose(points.y, [50, 75], atol=0.1)
    assert points.texts == ["\u00a0+50%", "\u00a0+75%"]
    assert panel.names[1] == "Mirror padding<br>batch norm 0.200<br>layer norm 0.350"


@pytest.mark.parametrize(
    ("on", "layer", "word", "headline", "why"),
    [
        (0.49, 0.3, "wrong", HEADLINE.format("Not here", 49, 50), "So this is not why"),
        (0.30, 0.2, "wrong", HEADLINE.format("Not here", 30, 50), "Nor is layer norm’s training loss clearly higher"),
        (0.10, 0.3, "holds", HEADLINE.format("Yes", 10, 50), "With mirror padding, layer norm’s loss is clearly lower"),
        (0.25, 0.3, "open", HEADLINE.format("Undecided", 25, 50), "do not decide whether units at the border"),
        (0.00, 0.2, "open", HEADLINE.format("Yes", 0, 50), "do not decide whether layer norm’s loss is higher"),
    ],
)
def test_units_are_rarely_on_where_less_than_half_of_the_share_inside_are(on, layer, word, headline, why):
    seen = judge(padded=ORDER | {"layer": layer}, mirrored=ORDER | {"layer": 0.2}, on=on)
    assert (seen.verdict.word, seen.headline) == (word, headline)
    assert why in seen.verdict.why


def test_the_verdict_names_the_order_of_the_schemes():
    assert judge().get_verdict("L09").text == (
        "Holds in part: layer norm learns faster than no normalization, batch norm learns faster than layer norm, "
        "but the border does not explain this"
    )
    assert "layer norm learns not clearly faster than no normalization" in (
        judge(padded=ORDER | {"none": 0.3}).get_verdict("L09").text
    )


@pytest.mark.parametrize(
    ("layer", "contrast", "words"),
    [
        (0.21, 1.0, ("holds", "holds")),
        (0.19, 1.0, ("holds", "holds")),
        (0.35, 1.0, ("wrong", "holds-if")),
        (0.30, 1.0, ("wrong", "holds-if")),
        (0.35, 0.5, ("open", "holds-if")),
        (0.20, 0.5, ("open", "holds-if")),
    ],
)
def test_mirror_padding_decides_whether_rarely_active_border_units_are_a_cause(layer, contrast, words):
    seen = judge(mirrored={"none": 0.4, "batch": 0.2, "layer": layer}, contrast=(0.5, contrast), on=0.1)
    assert (seen.verdict.word, seen.get_verdict("L09").word) == words
    assert ("With both paddings, layer norm’s loss is clearly higher" in seen.verdict.why) == (words[0] == "wrong")
    assert seen.verdict.why in seen.figures[1].caption


def test_no_lag_with_zero_padding_supports_no_explanation():
    seen = judge(padded=ORDER | {"layer": 0.2}, mirrored=ORDER | {"layer": 0.1})
    assert "do not decide" in seen.get_verdict("L09").why


@pytest.mark.parametrize(
    ("layer", "errors", "word"), [(0.3, 0.1, "holds"), (0.3, 0.0, "holds-if"), (0.2, 0.1, "open"), (0.1, 0.1, "wrong")]
)
def test_that_batch_norm_outperforms_layer_norm_takes_fewer_errors_too_whatever_the_border_is(layer, errors, word):
    seen = judge(padded=ORDER | {"layer": layer}, errors=errors)
    assert seen.get_verdict("B16").word == word


def test_it_does_not_hold_where_layer_norm_is_slower_than_no_normalization_or_faster_than_batch_norm():
    assert judge(padded=ORDER | {"layer": 0.5}).get_verdict("L09").word == "wrong"
    assert judge(padded=ORDER | {"layer": 0.1}).get_verdict("L09").word == "wrong"


def test_equal_schemes_leave_it_open():
    seen = judge(padded={"none": 0.2, "batch": 0.2, "layer": 0.2})
    assert seen.get_verdict("L09").word == "open"
    assert "Layer norm against no normalization: not clearly different" in seen.verdict.says


def test_the_verdict_says_at_which_rates_layer_norm_is_faster_than_no_normalization():
    setting = Setting(steps=20)
    results = made_up(setting)
    layer = results[make_grid_job(setting, "constant", setting.schemes.index("layer"))]
    layer["losses"][:, -1] += 0.5
    says = report(setting, results).verdict.says
    assert "less at 0.003, 0.01 and 0.03, more at 0.1." in says


def test_nothing_is_said_of_networks_that_do_not_learn():
    seen = judge(errors=4.0)
    assert seen.verdict.word == "open"
    assert "Neither batch norm nor layer norm learns" in seen.verdict.says


def test_without_one_of_the_three_schemes_nothing_is_said():
    seen = judge(Setting(steps=20, schemes=("none", "batch")))
    assert seen.verdict.word == "open"
    assert "Choose Layer as well" in seen.verdict.says


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_networks_that_diverge_do_not_break_it(bad):
    seen = judge(padded=ORDER | {"layer": bad})
    assert seen.get_verdict("B16").word == "open"
    assert all(draw_curve_panels(shown.panels).data for shown in seen.figures)
    assert len(seen.figures) == 4


def test_fields_that_do_not_fit_a_layer_are_refused():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("group",), groups=16)
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("custom",), own="own,groups(3),full,full|own,groups(3),full,full")
