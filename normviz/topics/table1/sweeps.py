"""Sweeps of gaps over ε, and over δ in several precisions."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from normviz.core.registry import Scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.table import compute_loss_gaps
from normviz.train.problem import find_network_index
from normviz.train.setting import DTYPES, Setting

EPSILONS = tuple(10.0**k for k in range(-15, 2))
DELTAS = tuple(float(10**k) for k in np.arange(-3, 3.01, 0.5))
TWIN_POSITIONS = [find_network_index(change) for change in TRANSFORMATIONS.values()]


def build_eps_settings(setting: Setting) -> list[Setting]:
    """Return copies of the setting, one for every ε of the sweep."""
    return [replace(setting, eps=eps) for eps in EPSILONS]


def build_delta_settings(setting: Setting) -> list[Setting]:
    """Return copies of the setting, one for every precision and δ of the sweep."""
    return [replace(setting, dtype=dtype, delta=delta) for dtype in DTYPES for delta in DELTAS]


def collect_forward_gaps(
    schemes: Sequence[Scheme], settings: Sequence[Setting], results: TableResultCache
) -> np.ndarray:
    """Return forward gaps, (settings, schemes, transformations); NaN if not measured yet or nothing is changed."""
    rows = [[results.get_forward(scheme, setting).gaps[TWIN_POSITIONS] for scheme in schemes] for setting in settings]
    return np.where([[_find_identity_changes(setting)] for setting in settings], np.nan, rows)


def collect_training_gaps(
    schemes: Sequence[Scheme], settings: Sequence[Setting], results: TableResultCache
) -> np.ndarray:
    """Return training gaps, (settings, schemes, transformations); NaN if not trained yet or nothing is changed."""
    found = np.full((len(settings), len(schemes), len(TWIN_POSITIONS)), np.nan)
    for i, setting in enumerate(settings):
        for j, scheme in enumerate(schemes):
            losses = results.get_losses(scheme, setting)
            if len(losses) == setting.steps:
                found[i, j] = np.where(
                    _find_identity_changes(setting), np.nan, compute_loss_gaps(losses).max(0)[TWIN_POSITIONS]
                )
    return found


def _find_identity_changes(setting: Setting) -> np.ndarray:
    """Return a boolean array over the transformations, True for those that change nothing, as with δ = 1."""
    return np.array([change.factor is not None and setting.delta == 1.0 for change in TRANSFORMATIONS.values()])
