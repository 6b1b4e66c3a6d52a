from dataclasses import replace

import numpy as np
import pytest
from repeated import assert_repeated

from normviz.core.errors import InvalidInput
from normviz.experiments.convolution import (
    LAYERS,
    Setting,
    border_and_inside,
    by_distance,
    distance,
    parts,
    report,
)
from normviz.jobs.spec import digest, finish
from normviz.ui.curves import curves

TINY = Setting(seeds=2, channels=4, batch=8, steps=20, schemes=("batch", "layer"))
NOISE = 0.001 * np.array([1, -1, 2, 0, -2])


def made_up(setting, losses, border=0.3, inside=0.6, on=(0.1, 0.5)):
    """Results in which schemes have these mean losses, by key, and units these statistics in all layers."""
    results = {}
    for part in parts(setting):
        maps = {}
        for layer, (_, height, width, _) in enumerate(part.shapes, 1):
            at_border = np.broadcast_to(distance(height) == 0, (2, len(part.networks), height, width))
            noise = 1 + NOISE[: len(part.networks), None, None]
            for name, (outer, inner) in {"on": on, "mean": (0.1, 0.2), "deviation": (border, inside)}.items():
                maps[f"{name}-{layer}"] = noise * np.where(at_border, outer, inner)
        loss = losses.get(part.row.key, 0.5) * (1 + NOISE[::-1])[: len(part.networks)]
        results[part] = {
            "losses": np.stack([loss] * 20), "errors": np.stack([loss / 10] * 2), "measured": np.array([0, 20]), **maps,
            "share": np.array(1.0), "device": np.array("CPU"),
        }  # fmt: skip
    return results


def told(losses, setting=None, **statistics):
    setting = setting or Setting(steps=20)
    return report(setting, made_up(setting, losses, **statistics))


def test_distances_are_those_from_the_nearest_edge():
    assert distance(4).tolist() == [[0, 0, 0, 0], [0, 1, 1, 0], [0, 1, 1, 0], [0, 0, 0, 0]]
    maps = np.where(distance(4) == 0, 1.0, 3.0)[None]
    np.testing.assert_allclose(by_distance(maps), [[1, 3]])
    assert [float(each[0]) for each in border_and_inside(maps)] == [1, 3]


def test_schemes_that_are_equal_are_trained_once():
    setting = Setting(schemes=("layer", "group", "instance", "layer-spatial"), channels=4, groups=2)
    assert [part.row.key for part in parts(setting)] == ["layer", "group", "instance"]
    assert len(report(setting, made_up(setting, {})).table["scheme"]) == 4 * 5


def test_another_choice_of_schemes_leaves_the_parts_of_the_others_as_they_are():
    first, second = (
        {digest(part) for part in parts(replace(TINY, schemes=keys))} for keys in (("batch", "layer"), ("layer", "rms"))
    )
    assert len(first & second) == 1


@pytest.mark.parametrize("padding", ["zeros", "none"])
def test_a_tiny_run_gives_the_same_numbers_again_and_for_one_seed_alone(padding):
    setting = replace(TINY, padding=padding, learned="unit")
    results = {part: finish(part) for part in parts(setting)}
    part, result = next(iter(results.items()))
    again, alone = finish(part), finish(replace(part, networks=part.networks[1:]))
    assert_repeated(result, again)
    np.testing.assert_allclose(alone["losses"][:, 0], result["losses"][:, 1], rtol=1e-3)
    side = 8 if padding == "zeros" else 4
    assert result[f"deviation-{LAYERS}"].shape == (9, 2, side, side)
    seen = report(setting, results)
    assert [shown.key for shown in seen.figures] == ["curves", "borders"]
    assert len(set(map(len, seen.table.values()))) == 1


def test_the_first_figures_are_there_when_one_network_has_begun():
    part = parts(TINY)[0]
    for step in part.steps():
        result = step.result()
        seen = report(TINY, {part: result})
        assert seen.verdict.word == "open"
        if step.share > 0.1:
            break
    assert [shown.key for shown in seen.figures] == ["curves", "borders"]
    assert not report(TINY, {}).figures


def test_it_holds_where_batch_norm_is_faster_and_the_border_explains_it():
    seen = told({"batch": 0.2, "layer": 0.3, "layer-channels": 0.25})
    assert seen.verdict.word == "holds"
    assert "0.3 at the border and 0.6 inside" in seen.verdict.says
    assert "10.0% at the border and 50.0% inside" in seen.verdict.says


@pytest.mark.parametrize(
    ("channels", "statistics", "said"),
    [
        (0.35, {}, "that mixing them in costs anything is not seen"),
        (0.25, {"on": (0.5, 0.5)}, "vary less;"),
        (0.25, {"border": 0.5}, "are turned on more rarely;"),
        (0.25, {"border": 0.5, "on": (0.5, 0.5)}, "border do not clearly differ;"),
    ],
)
def test_it_holds_under_a_condition_where_part_of_the_explanation_is_not_seen(channels, statistics, said):
    seen = told({"batch": 0.2, "layer": 0.3, "layer-channels": channels}, **statistics)
    assert seen.verdict.word == "holds-if"
    assert said in seen.verdict.condition


@pytest.mark.parametrize(
    ("layer", "errors", "word"), [(0.3, 1, "holds"), (0.3, 0, "holds-if"), (0.2, 1, "open"), (0.1, 1, "wrong")]
)
def test_that_batch_norm_outperforms_layer_norm_takes_fewer_errors_too_whatever_the_border_is(layer, errors, word):
    setting = Setting(steps=20, schemes=("batch", "layer"))
    results = made_up(setting, {"batch": 0.2, "layer": layer}, border=0.6, on=(0.5, 0.5))
    for result in results.values():
        result["errors"] = errors * result["errors"]
    seen = report(setting, results)
    assert seen.verdict_on("B16").word == word
    assert seen.verdict_on("L09").word == ("holds-if" if word == "holds" else word)


def test_it_does_not_hold_where_layer_norm_is_faster_and_noise_leaves_it_open():
    assert told({"batch": 0.3, "layer": 0.2}).verdict.word == "wrong"
    same = told({"batch": 0.2, "layer": 0.2}, Setting(steps=20, schemes=("batch", "layer")))
    assert same.verdict.word == "open"
    assert "noise" in same.verdict.says


def test_nothing_is_told_of_networks_that_do_not_learn():
    seen = told({"batch": 8.0, "layer": 9.0})
    assert seen.verdict.word == "open"
    assert "Neither of the two learns" in seen.verdict.says


def test_without_batch_or_layer_norm_nothing_is_told():
    seen = told({}, Setting(steps=20, schemes=("none", "batch")))
    assert seen.verdict.word == "open"
    assert "layer normalization is not chosen" in seen.verdict.says


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_networks_that_diverge_do_not_break_it(bad):
    seen = told({"batch": 0.2, "layer": bad}, border=bad, on=(0.0, 0.0))
    assert seen.verdict.word == "open"
    assert "diverged" in seen.verdict.says
    assert all(curves(shown.panels).data for shown in seen.figures)
    assert len(seen.figures) == 3


def test_fields_that_do_not_fit_a_layer_are_refused():
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("group",), groups=16)
    with pytest.raises(InvalidInput, match="groups"):
        Setting(schemes=("custom",), own="own,groups(3),full,full|own,groups(3),full,full", padding="none")
