"""What the lessons state, computed by the library: the names in the expressions of their `facts`."""

from functools import cache
from math import ceil, log  # noqa: F401 - of expressions

import numpy as np

import normviz
from normviz.core.backward import backward
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.data.samples import SAMPLES
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.batch_size import EXPERIMENT as BATCH_SIZE
from normviz.topics.experiments.examples import find_example
from normviz.topics.geometry.rate import RateSetting, train_side_by_side, train_single
from normviz.topics.geometry.three_channels import INCOMING_GRADIENT, normalize_example, take_step  # noqa: F401
from normviz.topics.gradients.chain import compute_chain_values, list_step_terms  # noqa: F401
from normviz.topics.running import cases, effects
from normviz.topics.running.averages import CONVENTIONS, compute_running_averages
from normviz.topics.running.modes import compute_batch_at
from normviz.topics.running.network import NETWORK_COUNT, NetworkTraining  # noqa: F401
from normviz.topics.running.stream import UNITS, trace_stream  # noqa: F401
from normviz.topics.running.stream import Setting as Stream
from normviz.topics.same.detection.examples import EXAMPLES  # noqa: F401
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.state import PARAMS, build_table_setting
from normviz.topics.table1.table import build_cells
from normviz.train.problem import ORIGINAL, find_network_index
from normviz.ui.link import clean_values

EPS, MOMENTUM = 1e-5, 0.1
SIZES = {"n": 4, "h": 4, "w": 4, "c": 6}
TABLE_SETTING = build_table_setting(clean_values(PARAMS, {})[0])
SIZE_SETTING = BATCH_SIZE.setting()


# --- the tensor of the lab --------------------------------------------------------------------------------------


def tensor(**sizes):
    """The tensor of the lab, and of all pages that share it."""
    return SAMPLES["uneven"].make(tuple((SIZES | sizes).values()), 0)


def means(scheme, groups=2, **sizes):
    """How many means the tensor has."""
    return normviz.statistics(tensor(**sizes), get_scheme(scheme, groups)).mean.size


def shared(scheme, groups=2, **sizes):
    """How many numbers share one mean."""
    return tensor(**sizes).size / means(scheme, groups, **sizes)


def xhat(scheme, groups=2, **sizes):
    return normalize(tensor(**sizes), get_scheme(scheme, groups), EPS).xhat


def first(scheme, groups=2, **sizes):
    """x̂ of the element that is orange at first."""
    return xhat(scheme, groups, **sizes)[0, 0, 0, 0]


def channel_mean(scheme):
    """The largest mean of x̂ of one channel of one example."""
    return abs(xhat(scheme).mean((1, 2))).max()


def deviation(groups, channel):
    """The standard deviation of x̂ of a channel in group norm, of one small image."""
    return xhat("group", groups, n=1, w=2, c=2)[0, :, :, channel].std()


def column(scheme):
    """x̂ of the first channel of the first example, of a tensor in which it stands out."""
    return normalize(SAMPLES["uneven"].make(tuple(SIZES.values()), 63), SCHEMES[scheme], EPS).xhat[0, :, :, 0]


def padded():
    """Two sequences of 8 tokens, the first of them with padding."""
    return SAMPLES["padded"].make((2, 8, 1, 6), 0)


def padding_matters(scheme):
    """Whether the padding changes what the real tokens of its sequence become."""
    with_padding, without = (normalize(x, SCHEMES[scheme], EPS).xhat for x in (padded(), padded()[:1, :6]))
    return not np.allclose(with_padding[:1, :6], without)


# --- training and inference -------------------------------------------------------------------------------------


@cache
def stream(**setting):
    """The stream of digits, its statistics, and their running averages."""
    setting, convention = Stream(**setting), CONVENTIONS["pytorch"]
    trace = trace_stream(setting, EPS)
    count = setting.element_count
    return setting, trace, compute_running_averages(trace.mean, trace.variance, count, convention, MOMENTUM)


def digit(step=60, **setting):
    """A batch of the stream; by default the one that the page opens on."""
    return compute_batch_at(*stream(**setting), step, EPS)


def threes():
    """A batch of one class."""
    return digit(72, batch=7, seed=2377)


def running_mean(after):
    return stream()[2].mean[after][0]


def batch_mean(batch):
    return stream()[1].mean[batch][0]


@cache
def outputs(scheme, batch=16):
    """x̂ of one digit at the first unit among other digits."""
    return effects.normalize_in_random_batches(Stream(batch=batch).without_drift)[scheme][:, 0]


def spread(scheme, batch=16):
    return np.ptp(outputs(scheme, batch))


@cache
def accuracies(framework):
    job = NetworkTraining(16, EPS, 0)
    return cases.measure_case_accuracies(run_to_end(job), job, CONVENTIONS[framework], MOMENTUM)


def accuracy(case, framework="pytorch"):
    """The percentage of test digits that are right."""
    return 100 * accuracies(framework)[case].mean()


@cache
def size_table():
    """The shipped result of the experiment on batch sizes, as its table."""
    found = find_example(BATCH_SIZE.key, BATCH_SIZE.list_jobs(SIZE_SETTING))
    return {name: np.array(each) for name, each in BATCH_SIZE.report(SIZE_SETTING, found.results).table.items()}


def test_error(scheme, size):
    table = size_table()
    return table[f"{scheme}, test error"][table["batch size"] == size].mean()


# --- Table 1 ----------------------------------------------------------------------------------------------------


@cache
def trained(scheme, **link):
    """What the page computes of one row: its setting and results."""
    setting, results = build_table_setting(clean_values(PARAMS, link)[0]), TableResultCache()
    results.compute_missing([SCHEMES[scheme]], setting)
    return setting, results


def cell(key, **link):
    scheme, _, change = key.partition(".")
    found = build_cells([SCHEMES[scheme]], *trained(scheme, **link))
    return next(each for each in found if each.transformation == change)


def losses(key, follow=True, **link):
    """The losses of network and twin, (steps, 2)."""
    scheme, _, change = key.partition(".")
    setting, results = trained(scheme, **link)
    networks = [ORIGINAL, find_network_index(TRANSFORMATIONS[change], follow)]
    return results.get_losses(SCHEMES[scheme], setting)[:, networks]


def is_same(key, **link):
    """Whether theory, forward pass and training agree that both have the same loss at every step; all have to agree."""
    found = cell(key, **link)
    answers = {found.predicted, found.forward, found.trained}
    assert len(answers) == 1
    return answers == {True}


def agrees_with_paper():
    """Whether the three rows of the paper have the entries that are found here."""
    keys = [f"{scheme}.{change}" for scheme in PAPER_TABLE for change in TRANSFORMATIONS]
    return all(cell(key).paper == is_same(key) for key in keys)


def rate_factor(optimizer):
    return TRANSFORMATIONS["weight-matrix-rescaling"].compute_rate_factor(optimizer, TABLE_SETTING.delta)


# --- gradients --------------------------------------------------------------------------------------------------


def gradient_ratio(factor):
    """The length of the gradient at W times a factor, relative to that at W."""
    slope = train_side_by_side(0, (1.0, factor), np.full((1, 2), 0.1), (0, 0)).slope[0]
    return slope[1] / slope[0]


@cache
def lengths():
    """‖W‖ along a training."""
    return train_single(RateSetting()).length[:, 0]


def chain(shift=0.0, has_mean=True):
    return compute_chain_values(np.array([3.0, 1, -1]) + shift, np.array(INCOMING_GRADIENT, float), EPS, has_mean)


def jacobian(count):
    """∂x̂/∂x of layer norm of so many numbers at ε = 0."""
    x = np.random.default_rng(0).normal(size=(1, 1, 1, count))
    rows = (backward(x, each.reshape(x.shape), SCHEMES["layer"], 0.0).ravel() for each in np.eye(count))
    return np.array(list(rows))


NAMES = {name: value for name, value in globals().items() if not name.startswith("_")}
