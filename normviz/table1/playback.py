"""The losses of Table 1's networks as the grid plays them: no more numbers than a cell can show, and each sent once."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from normviz.networks.problem import ORIGINAL
from normviz.table1.table import loss_gaps

POINTS = 100
"""The most steps of a training that are sent: a cell is hardly wider than so many points."""


class Curve(NamedTuple):
    """What a cell's pair of curves is of: its row, the position of its twin in `NETWORKS`, and the twin's role."""

    row: int
    network: int
    role: str


def playback(losses: Sequence[np.ndarray], steps: int, curves: Mapping[str, Curve]) -> dict:
    """What `ui.grid` plays of the losses of its rows, each (steps so far, networks); a row may be ahead of another.

    Args:
        losses: of every row.
        steps: of a whole training.
        curves: of the cells that show any, by their keys.

    Returns:
        steps; at: the steps that are sent, counted from 1; bases: the originals' losses, (rows, points); by the order
        of `curves` cells, rows and roles, and (cells, points) twins: the transformed networks' losses, and gaps: the
        largest one up to each step. NaN where a row has not come so far.
    """
    done = max(map(len, losses), default=0)
    some = np.unique(np.linspace(1, steps, min(steps, POINTS)).round().astype(int))
    at = np.union1d(some[some < done], np.arange(done, done + bool(done)))
    bases, twins, gaps = (np.full((n, len(at)), np.nan, np.float32) for n in (len(losses), len(curves), len(curves)))
    for row, found in enumerate(losses):
        come = at[at <= len(found)] - 1
        cells = [cell for cell, curve in enumerate(curves.values()) if curve.row == row]
        networks = [curve.network for curve in curves.values() if curve.row == row]
        if len(come):
            largest = np.maximum.accumulate(loss_gaps(found))
            with np.errstate(over="ignore"):  # beyond float32 is beyond every curve
                bases[row, : len(come)] = found[come, ORIGINAL]
                twins[cells, : len(come)] = found[come][:, networks].T
                gaps[cells, : len(come)] = largest[come][:, networks].T
    return {
        "steps": steps,
        "at": at,
        "cells": list(curves),
        "rows": [curve.row for curve in curves.values()],
        "roles": [curve.role for curve in curves.values()],
        "bases": bases,
        "twins": twins,
        "gaps": gaps,
    }
