"""What has been trained, kept by what it depends on: a setting that moves retrains what it affects and nothing else."""

import time
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from normviz.core.schemes import Scheme
from normviz.networks.problem import NETWORKS
from normviz.networks.setting import Setting

if TYPE_CHECKING:
    from normviz.networks.twins import Failure

KEEP_EVERY = 0.2
"""Seconds between two looks at the losses of a run that is under way."""


class Results:
    """The losses of trained networks, the most recently used ones; for any number of threads."""

    def __init__(self, limit: int = 8192) -> None:
        self.limit = limit
        self.device = ""
        self._losses: OrderedDict[Hashable, np.ndarray] = OrderedDict()
        self._failures: dict[Hashable, Failure] = {}
        self._lock = Lock()

    def losses(self, scheme: Scheme, setting: Setting) -> np.ndarray:
        """(steps so far, networks), of as many steps as all networks of the scheme have done."""
        with self._lock:
            found = [self._losses.get(_key(scheme, setting, n), np.empty(0)) for n in range(len(NETWORKS))]
        done = min(setting.steps, *map(len, found))
        return np.stack([losses[:done] for losses in found], axis=1)

    def failure(self, scheme: Scheme, setting: Setting, network: int) -> "Failure | None":
        """Where a network stopped being finite, once that is known."""
        return self._failures.get(_key(scheme, setting, network))

    def missing(self, schemes: Sequence[Scheme], setting: Setting) -> list[tuple[list[Scheme], list[int]]]:
        """What has to be trained: blocks of schemes that lack the same networks."""
        blocks: dict[tuple[int, ...], dict[Hashable, Scheme]] = {}
        with self._lock:
            for scheme in schemes:
                keys = [_key(scheme, setting, network) for network in range(len(NETWORKS))]
                lacks = tuple(n for n, key in enumerate(keys) if len(self._losses.get(key, ())) < setting.steps)
                if lacks:
                    blocks.setdefault(lacks, {})[keys[0]] = scheme  # two names of one computation are trained once
        return [(list(rows.values()), list(networks)) for networks, rows in blocks.items()]

    def fill(
        self,
        schemes: Sequence[Scheme],
        setting: Setting,
        progress: Callable[[float], object] = lambda share: None,
        cancelled: Callable[[], bool] = lambda: False,
    ) -> None:
        """Train what is missing, keeping what is there of it; `progress` is told the share that is done."""
        from normviz.networks.twins import diagnose, train

        setting.check(schemes)
        blocks = self.missing(schemes, setting)
        for number, (rows, networks) in enumerate(blocks):
            looked = time.monotonic()

            def look(losses, rows=rows, networks=networks, number=number) -> None:
                nonlocal looked
                if len(losses) < setting.steps and time.monotonic() - looked > KEEP_EVERY:
                    self._keep(rows, setting, networks, losses.cpu().double().numpy())
                    progress((number + len(losses) / setting.steps) / len(blocks))
                    looked = time.monotonic()

            losses, self.device = train(rows, setting, look, cancelled, networks)
            lost = ~np.isfinite(losses).all(0)
            if lost.any() and not cancelled():
                failed = [rows[row] for row in np.flatnonzero(lost.any(1))]
                which = [networks[column] for column in np.flatnonzero(lost.any(0))]
                found = diagnose(failed, setting, which)
                self._failures |= {_key(failed[r], setting, which[c]): failure for (r, c), failure in found.items()}
            self._keep(rows, setting, networks, losses)  # only now, so that what is there is there with its reasons

    def _keep(self, schemes: Sequence[Scheme], setting: Setting, networks: Sequence[int], losses: np.ndarray) -> None:
        with self._lock:
            for row, scheme in enumerate(schemes):
                for column, network in enumerate(networks):
                    key = _key(scheme, setting, network)
                    self._losses[key] = losses[:, row, column].copy()
                    self._losses.move_to_end(key)
            while len(self._losses) > self.limit:
                key, _ = self._losses.popitem(last=False)
                self._failures.pop(key, None)


def _key(scheme: Scheme, setting: Setting, network: int) -> Hashable:
    """What the losses of a network depend on; those of fewer steps are the first ones of those of more."""
    on_activations, on_weights = scheme.on_activations, scheme.on_weights
    computed = (
        on_activations and tuple(map(on_activations.canonical, setting.shapes)),
        on_weights and tuple(map(on_weights.canonical, setting.weight_shapes)),
    )
    divides = on_activations is not None and on_activations.suppression is not None
    change = NETWORKS[network].transformation
    rescales = change is not None and change.factor is not None
    relevant = replace(
        setting,
        steps=1,
        eps=setting.eps if divides else 0.0,
        delta=setting.delta if rescales else 1.0,
    )
    return computed, relevant, network
