"""The digest of a job: the same wherever and however its data were written down, another for other data."""

import os
import pickle
import subprocess
import sys
from dataclasses import FrozenInstanceError, dataclass, make_dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import ClassVar

import pytest
from work import Count, Fails

from normviz.core.registry import SCHEMES
from normviz.jobs.spec import compute_digest, run_to_end
from normviz.topics.table1.training import TableTrainingJob
from normviz.train.setting import Setting

ROOT = Path(__file__).parents[2]
TRAINING = TableTrainingJob.of([SCHEMES["batch"], SCHEMES["weight"]], Setting(steps=3), [0, 1])
PRINTED = """
from normviz.core.registry import SCHEMES
from normviz.jobs.spec import compute_digest
from normviz.train.setting import Setting
from normviz.topics.table1.training import TableTrainingJob
print(compute_digest(TableTrainingJob.of([SCHEMES["batch"], SCHEMES["weight"]], Setting(steps=3), [0, 1])))
"""


def named(*fields, kind="named", version=1):
    """A job whose data are these fields, in this order."""
    made = make_dataclass("Named", [name for name, _ in fields], frozen=True)
    made.kind, made.version = kind, version
    return made(**dict(fields))


def test_a_job_is_frozen_and_can_be_pickled():
    with pytest.raises(FrozenInstanceError):
        TRAINING.setting = Setting()
    assert pickle.loads(pickle.dumps(TRAINING)) == TRAINING
    assert compute_digest(pickle.loads(pickle.dumps(TRAINING))) == compute_digest(TRAINING)


def test_a_digest_stays_as_it_is():
    """Results are named by it: another way of writing the same data would lose them all."""
    assert compute_digest(Count(3)) == sha256(b'{"data":{"n":3,"pause":0},"kind":"count","version":1}').hexdigest()
    assert compute_digest(Count(3)) == "5b40c1aded8912de1109be15be0af78139d9613c864c49d1debe9684f6d074a0"


@pytest.mark.parametrize("seed", ["0", "1", "random"])
def test_a_digest_is_that_of_every_process(seed):
    environment = os.environ | {"PYTHONHASHSEED": seed}
    printed = subprocess.run(
        [sys.executable, "-c", PRINTED], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    assert printed.stdout.strip() == compute_digest(TRAINING)


def test_the_order_of_the_fields_and_how_a_number_is_written_do_not_matter():
    assert compute_digest(named(("a", 1), ("b", 2.0))) == compute_digest(named(("b", 2), ("a", 1.0)))
    assert compute_digest(named(("a", -0.0))) == compute_digest(named(("a", 0)))
    written_otherwise = replace(TRAINING, setting=Setting(steps=3, delta=3))
    assert written_otherwise == TRAINING
    assert compute_digest(written_otherwise) == compute_digest(TRAINING)


@pytest.mark.parametrize(
    "other",
    [
        named(("a", 2)),
        named(("b", 1)),
        named(("a", "1")),
        named(("a", None)),
        named(("a", 1.5)),
        named(("a", (1,))),
        named(("a", 1), ("b", 1)),
        named(("a", 1), kind="other"),
        named(("a", 1), version=2),
    ],
    ids=repr,
)
def test_what_differs_has_another_digest(other):
    assert compute_digest(other) != compute_digest(named(("a", 1)))


def test_every_part_of_a_training_matters():
    others = [
        replace(TRAINING, networks=(0, 2)),
        replace(TRAINING, rows=TRAINING.rows[::-1]),
        replace(TRAINING, setting=Setting(steps=3, seed=1)),
        TableTrainingJob.of([SCHEMES["batch"], SCHEMES["weight"].with_fields(None, None)], Setting(steps=3), [0, 1]),
    ]
    assert len({compute_digest(job) for job in [TRAINING, *others]}) == 5


@pytest.mark.parametrize("value", [[1], {1}, {"a": 1}, object(), Setting], ids=lambda value: type(value).__name__)
def test_what_is_not_plain_is_refused(value):
    with pytest.raises(TypeError, match="is not plain data"):
        compute_digest(named(("a", value)))


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_a_number_that_is_not_finite_is_refused(value):
    with pytest.raises(ValueError, match="not JSON compliant"):
        compute_digest(named(("a", value)))


def test_a_job_run_to_its_end_gives_its_last_result():
    assert run_to_end(Count(4))[0] == (0, 1, 2, 3)
    with pytest.raises(ValueError, match="no such device"):
        run_to_end(Fails("no such device"))


def test_parts_of_a_job_may_be_dataclasses():
    @dataclass(frozen=True)
    class Outer:
        kind: ClassVar[str] = "named"
        version: ClassVar[int] = 1
        a: object

    assert compute_digest(Outer(Setting())) != compute_digest(Outer(Setting(seed=1)))
    assert compute_digest(Outer((1, 2))) == compute_digest(named(("a", (1, 2))))
