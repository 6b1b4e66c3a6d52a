"""What holds for every experiment: its settings, its parts as jobs, and its report of whatever there is of results."""

import io
import pickle
import re
from collections.abc import Sequence
from functools import cache
from itertools import accumulate
from types import SimpleNamespace

import numpy as np
import pytest
from checked import checked

from normviz.core.errors import InvalidInput
from normviz.core.settings import (
    Choice,
    Declaration,
    DependentValue,
    MultipleChoice,
    NumberChoice,
    Real,
    Switch,
    get_declarations,
)
from normviz.data.digits import DIGITS_DESCRIPTION, load_digits
from normviz.jobs.spec import compute_digest
from normviz.topics.experiments.catalogue import ALIASES, EXPERIMENTS, get_experiment
from normviz.topics.experiments.experiment import ComparisonSetting, format_custom_scheme, parse_custom_scheme
from normviz.topics.experiments.figures import draw_figure
from normviz.topics.experiments.reports import VERDICT_TEXTS, HeatMap

KEYS = list(EXPERIMENTS)
LONG, ALL = 600, 2400
"""Seconds that one part, and all of them, may take at the most costly setting."""


@pytest.mark.parametrize("key", KEYS)
def test_what_is_said_of_it(key):
    each = EXPERIMENTS[key]
    assert each.key == key == get_experiment(key).key
    assert re.fullmatch(r"[a-z]+(-[a-z]+)*", key)
    assert each.question.endswith("?")
    assert all(text.endswith(".") for text in (each.claim, each.about(each.setting()), each.test(each.setting())))
    assert len(each.test(each.setting())) < 270  # two lines at 1280 pixels
    assert each.why.endswith(".") or not each.why  # its verdict then has the reason
    assert all(re.fullmatch(r"[A-Z]\d\d", claim) for claim in each.claims)
    assert each.claims or "arXiv" in each.claim + each.rules
    assert re.search("“.+”", each.claim)  # in the words of its source
    assert re.search("section|abstract|documentation|notes", each.claim)


@pytest.mark.parametrize("key", KEYS)
def test_its_rules_are_those_of_every_comparison(key):
    """At least eight seeds, 95% intervals, and Holm's correction for the number of comparisons."""
    each = EXPERIMENTS[key]
    assert each.setting().seeds >= 8
    assert "95% intervals" in each.rules
    assert "Holm" in each.rules


def test_the_data_and_the_network_are_those_of_the_setting():
    for key, changes, words in (
        ("learning-rate", {"depth": 2}, "2 hidden layers of 32 units."),
        ("dropout", {"digits": 400, "relabelled": 0.1}, "8 × 8 pixels, with correct labels and with 10% random"),
        ("smoothing", {"depth": 8, "digits": 50}, "50 of 1,797 handwritten digits of 8 × 8 pixels; 8 hidden layers"),
        ("convolution", {"channels": 4}, "2 layers of 4 filters"),
        ("fine-tuning", {"examples": 64}, "64 examples of the new task."),
        ("speed", {"channels": 64}, "(N, 8, 8, 64), N = 1, 8 and 64;"),
    ):
        each = EXPERIMENTS[key]
        assert words in each.about(each.setting(**changes)), key
    pictures, _ = load_digits()
    assert "{:,} handwritten digits of {} × {} pixels".format(*pictures.shape) == DIGITS_DESCRIPTION


@pytest.mark.parametrize("old", ALIASES)
def test_an_alias_opens_the_experiment_that_it_is_part_of_now(old):
    alias = ALIASES[old]
    assert old not in EXPERIMENTS
    assert get_experiment(old) is EXPERIMENTS[alias.key]
    assert set(alias.settings.values()) <= set(get_declarations(get_experiment(old).setting))


def test_an_unknown_one_is_refused():
    with pytest.raises(InvalidInput, match="batch-size"):
        get_experiment("batchsize")


@pytest.mark.parametrize("key", KEYS)
def test_its_parts_are_jobs_of_plain_data(key):
    each = EXPERIMENTS[key]
    found = each.list_jobs(each.setting())
    assert found == each.list_jobs(each.setting())  # by value, as results are found by them
    assert len({compute_digest(part) for part in found}) == len(found)
    for part in found:
        assert pickle.loads(pickle.dumps(part)) == part
        assert part.kind.startswith("experiments/")
        assert 0 < part.seconds < 40


@pytest.mark.parametrize("key", KEYS)
def test_the_default_takes_seconds(key):
    each = EXPERIMENTS[key]
    assert each.estimate_seconds(each.setting()) < 100  # on one core, as estimated


def ends(each: Declaration):
    """The values of a declaration between which those of all settings lie."""
    if isinstance(each, Real):
        default = each.default.table.values() if isinstance(each.default, DependentValue) else [each.default]
        return [each.least, *default, *([] if callable(each.most) else [each.most])]
    if isinstance(each, MultipleChoice):
        return [each.default, tuple(each.list_options({})), tuple(each.list_options({}))[:1]]
    if isinstance(each, NumberChoice):
        return [min(each.list_options({})), max(each.list_options({}))]
    if isinstance(each, Choice):
        return each.list_options({})
    return [True, False] if isinstance(each, Switch) else [each.default]


def extremes(kind, count=60):
    """The setting with the most of everything, and some with the least or the most of each, by chance."""
    given = {name: ends(each) for name, each in get_declarations(kind).items() if name != "device"}
    rng = np.random.default_rng(0)
    yield {name: values[-1] for name, values in given.items() if name not in ("groups", "own")}
    for _ in range(count):
        yield {name: values[rng.integers(len(values))] for name, values in given.items()}


@pytest.mark.parametrize("key", KEYS)
def test_the_limits_bound_the_cost(key):
    each, built = EXPERIMENTS[key], 0
    for values in extremes(each.setting):
        try:
            setting = each.setting(**values)
            seconds = [part.seconds for part in each.list_jobs(setting)]
        except InvalidInput:
            continue
        built += 1
        assert max(seconds) < LONG, values
        assert sum(seconds) < ALL, values
    assert built > 10


TINY = {"seeds": 2, "steps": 20, "length": 20, "examples": 64, "digits": 50}
"""What makes a setting short, where it has that."""


@cache
def tiny(key):
    """A short run of an experiment: its setting, its parts, their first results and their last ones."""
    each = EXPERIMENTS[key]
    known = get_declarations(each.setting)
    setting = each.setting(
        **{name: known[name].find_nearest_value(value, {}) for name, value in TINY.items() if name in known}
    )
    first, last = {}, {}
    for part in each.list_jobs(setting):
        shares = []
        for step in part.steps():
            shares.append(step.share)
            if part not in first:
                first[part] = step.result()
        last[part] = step.result()
        assert shares == sorted(shares)
        assert shares[-1] == 1
    return SimpleNamespace(experiment=each, setting=setting, first=first, last=last)


def reported(run, results):
    """The report of some results, looked through: figures that plotly takes, and sentences."""
    report = run.experiment.report(run.setting, results)
    assert report.verdict.word in VERDICT_TEXTS
    texts = [report.headline, report.verdict.says]
    for shown in report.figures:
        assert len(shown.alt) > 20
        texts += [shown.alt, shown.caption]
        checked(draw_figure(shown))
        if not isinstance(shown.panels, HeatMap):
            assert isinstance(shown.panels, Sequence)
    assert report.headline
    assert len({shown.key for shown in report.figures}) == len(report.figures)
    assert len({len(column) for column in report.table.values()}) <= 1
    for text in texts:
        assert not re.search(r"\de[-−+]?\d|\binf\b|  |\.\.", text), text
    return report


@pytest.mark.parametrize("key", KEYS)
def test_nothing_is_known_before_it_begins(key):
    each = EXPERIMENTS[key]
    report = reported(SimpleNamespace(experiment=each, setting=each.setting()), {})
    assert report.verdict.word in ("open", "opinion")
    assert not report.figures


@pytest.mark.parametrize("key", KEYS)
def test_results_are_arrays_that_a_file_can_hold(key):
    run = tiny(key)
    for results in (run.first, run.last):
        for result in results.values():
            file = io.BytesIO()
            np.savez(file, **result)
            file.seek(0)
            with np.load(file, allow_pickle=False) as read:
                assert set(read) == set(result) >= {"share", "device"}
                assert 0 < read["share"] <= 1
                assert read["device"]
    assert all(result["share"] == 1 for result in run.last.values())


@pytest.mark.parametrize("key", KEYS)
def test_a_report_of_whatever_is_there(key):
    run = tiny(key)
    for done in accumulate(([part] for part in run.last), initial=[]):
        some = {part: run.last[part] for part in done}
        reported(run, some)
        begun = next((part for part in run.last if part not in some), None)
        if begun:
            reported(run, some | {begun: run.first[begun]})
    whole = reported(run, run.last)
    turned = reported(run, dict(reversed(run.last.items())))
    assert (whole.headline, whole.verdict) == (turned.headline, turned.verdict)
    assert whole.figures
    assert len(next(iter(whole.table.values()))) > 1


@pytest.mark.parametrize("bad", [np.nan, np.inf, 0.0])
@pytest.mark.parametrize("key", [key for key in KEYS if key != "speed"])  # which trains none: its results are times
def test_a_report_of_networks_that_came_to_no_numbers(key, bad):
    """Losses and the like are bad; shares of wrong answers are then all or none."""
    run = tiny(key)

    def broken(name, array):
        if array.dtype.kind != "f" or name in ("share", "measured"):
            return array
        share = array.size and array.min() >= 0 and array.max() <= 1
        return np.full_like(array, float(bad != 0) if share else bad)

    results = {part: {name: broken(name, each) for name, each in got.items()} for part, got in run.last.items()}
    reported(run, results)
    reported(run, run.last | dict(list(results.items())[::2]))


@pytest.mark.parametrize("key", [key for key in KEYS if issubclass(EXPERIMENTS[key].setting, ComparisonSetting)])
def test_a_comparison_of_nothing_is_refused(key):
    with pytest.raises(InvalidInput, match="scheme"):
        EXPERIMENTS[key].setting(schemes=())


def test_a_scheme_of_ones_own_as_text():
    scheme = parse_custom_scheme("own,full,full,groups(2)|")
    assert format_custom_scheme(scheme) == "own,full,full,groups(2)|"
    assert parse_custom_scheme(format_custom_scheme(scheme)) == scheme
    assert parse_custom_scheme("").key == "custom"
    for text in ("own,full,full,own", "own,full|own", "all,all,all,all|"):
        with pytest.raises(InvalidInput):
            parse_custom_scheme(text)


def test_a_comparison_holds_its_schemes_as_plain_data():
    class Here(ComparisonSetting):
        shape = (8, 1, 1, 64)

    setting = Here(schemes=("batch", "group", "custom", "batch"), groups=4, own="full,full,full,own|")
    assert [row.key for row in setting.rows] == ["batch", "group", "custom"]
    assert "groups(4)" in setting.rows[1].summation
    assert setting.rows[2].suppression is None
    assert setting.labels[0] == "batch norm"
    assert setting.names == ("batch norm", "group norm", "a scheme of your own")
