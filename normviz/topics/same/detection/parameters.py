"""Estimates of γ and β for a fit of the detector."""

import numpy as np

from normviz.topics.same.detection.candidates import choose_independent_part, find_mixed_axes
from normviz.topics.same.detection.fitting import MAX_CONFIRMED, CandidateFit, compute_trials
from normviz.topics.same.detection.regression import solve_affine


def estimate_affine(
    x: np.ndarray, y: np.ndarray, fit: CandidateFit, eps: float, dtype: str
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate a fit's γ and β by least squares, as two arrays that broadcast against x and y, (N, H, W, C).

    They are NaN where x̂ is constant. Where every channel has statistics of its own, one block of channels is read at a
    time; of other axes that are not averaged, only the indices of `choose_independent_part` are.
    """
    part = choose_independent_part(x.shape, fit.scheme, MAX_CONFIRMED)
    blocks = [part[3]]
    if "C" in fit.along and not find_mixed_axes(x.shape, fit.scheme)[3]:
        blocks = np.array_split(np.arange(x.shape[3]), -(-x.shape[3] // part[3].size))
    found = []
    for block in blocks:
        some, target = (each[(*part[:3], block)].astype(float, copy=False) for each in (x, y))
        trial = compute_trials(some, fit.schemes, (eps,), dtype).select_eps(0)
        solution = solve_affine(target, trial, fit.along)
        found.append([np.where(solution.known, each, np.nan) for each in (solution.gain, solution.bias)])
    gains, biases = zip(*found, strict=True)
    return np.concatenate(gains, axis=3), np.concatenate(biases, axis=3)
