"""The checks of claims as jobs: one job per check, and the jobs of experiments."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from typing import Any

import numpy as np

import normviz
from normviz.jobs.results import ArrayJob, Arrays, Results, is_complete
from normviz.jobs.spec import JobStep
from normviz.topics.claims.claim import Claim, Evidence, ExperimentCheck
from normviz.topics.claims.claim_list import CLAIMS
from normviz.topics.claims.trials import join_trials, list_seeds
from normviz.topics.experiments.catalogue import get_experiment
from normviz.topics.experiments.experiment import Experiment


def _hash_package_code() -> str:
    found = sha256()
    for path in sorted(Path(normviz.__file__).parent.rglob("*.py")):
        found.update(path.read_bytes())
    libraries = (f" {name} {version(name)}" for name in ("numpy", "torch", "scikit-learn"))
    return f"{found.hexdigest()[:16]} Python {python_version()}{''.join(libraries)}"


CODE_VERSION = _hash_package_code()
"""Version of this code and of its numeric libraries; cached results are valid for one version. Computed on
import, since files may change below a running server."""


@dataclass(frozen=True)
class Measurement(ArrayJob, kind="claims", version=2):
    """Job that measures one claim, given by id, from a first seed on; another version of the code measures anew."""

    id: str
    seed: int
    code: str

    @property
    def seconds(self) -> float:
        """Expected seconds of the check: one value for quick checks, one for all others."""
        return 0.1 if CLAIMS[self.id].is_quick else 5.0

    def steps(self) -> Iterator[JobStep[Arrays]]:
        """Yield one step, whose result holds the evidence as JSON."""
        yield JobStep(1.0, partial(_convert_evidence, measure_claim(CLAIMS[self.id], self.seed)))


def _convert_evidence(evidence: Evidence) -> Arrays:
    return {"evidence": np.array(json.dumps(evidence.to_record())), "share": np.array(1.0), "device": np.array("CPU")}


def measure_claim(claim: Claim, seed: int) -> Evidence:
    """Run a claim's check in this process and return its evidence, from `seed` on."""
    if isinstance(claim.check, ExperimentCheck):
        raise TypeError(f"{claim.id} is decided by experiments")
    runs = [claim.check(each) for each in ([seed] if claim.once else list_seeds(seed))]
    return Evidence([join_trials(trials) for trials in zip(*runs, strict=True)], opinion=claim.expected == "opinion")


def list_claim_jobs(claim: Claim, seed: int) -> tuple[ArrayJob, ...]:
    """Return the jobs that measure a claim: its own, or those of its experiments, which other claims may share."""
    if not isinstance(claim.check, ExperimentCheck):
        return (Measurement(claim.id, seed, CODE_VERSION),)
    return tuple(
        job for each, setting in _list_experiment_settings(claim.check, seed) for job in each.list_jobs(setting)
    )


def _list_experiment_settings(check: ExperimentCheck, seed: int) -> list[tuple[Experiment, Any]]:
    experiments = map(get_experiment, check.experiments)
    return [(each, each.setting(seed=seed)) for each in experiments]


def find_evidence(claim: Claim, seed: int, results: Results) -> Evidence | None:
    """Return the evidence of a claim from its jobs' results, or None if one of them is missing or incomplete."""
    jobs = list_claim_jobs(claim, seed)
    if not all(job in results and is_complete(results[job]) for job in jobs):
        return None
    if not isinstance(claim.check, ExperimentCheck):
        return Evidence.from_record(json.loads(str(results[jobs[0]]["evidence"])))
    reports = (each.report(setting, results) for each, setting in _list_experiment_settings(claim.check, seed))
    return Evidence((), verdicts=[report.get_verdict(claim.id) for report in reports])
