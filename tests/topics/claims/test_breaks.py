"""The core broken on purpose, in a process of its own: the claims that speak of it turn red, and no others."""

import json
import os
import subprocess
import sys
from typing import NamedTuple

import pytest


class Break(NamedTuple):
    """What is put in the core's place before anything else is imported, and the claims that have to notice."""

    code: str
    red: set[str]


BREAKS = {
    "layer norm over N, H and W": Break(
        """
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES

wrong = Field.parse("full, full, full, own")
SCHEMES["layer"] = SCHEMES["layer"].with_fields(wrong, wrong)
""",
        {
            # Table 1's cells of layer norm: τ on all vectors, one vector times δ, τ on the data, one example times δ.
            # Batch norm absorbs one factor for all weights or all data just as well: T13, T16, TC13 and TC16 stay. On
            # a convolution neither absorbs τ on all vectors: so does TC14.
            *("T14", "T15", "T17", "T18", "TC15", "TC17", "TC18"),
            *("L01", "L03", "L05", "L06", "L08"),  # what it is over; L04 is about a reading that this is not either
            *("I03", "G01"),  # instance norm, and group norm with one group, are layer norm
            "G05",  # what groups add to layer norm
            "B10",  # no example depends on its mini-batch, in layer norm
            "W03",  # what layer norm absorbs and weight norm does not
            "R01",  # RMS norm keeps what layer norm absorbs by dividing
            "D01",  # layer norm is the general form with the ranges of its row
            *("N01", "N02", "N03"),  # gradients of a layer whose units share μ and σ
            *("F01", "F02"),  # what becomes of layer norm's invariances
            "X09",  # layer norm of two units is a sign, just as batch norm of two examples
        },
    ),
    "variance without m/(m−1)": Break(
        """
from normviz.topics.running.averages import Convention

Convention.correct_variances = lambda self, variances, count: variances
""",
        {
            "B02",  # with it, the variance is that of the population
            "X01",  # on a dense layer, which is the condition there
            "X08",  # PyTorch's running variance has it, that of Keras has not
        },
    ),
    "ε outside the root": Break(
        """
import normviz.core.kinds.general as core

root = core.compute_rms
core.compute_rms = lambda v, field, eps=0.0: root(v, field) + eps
""",
        {
            "B01",  # the variance is var/(var + ε)
            "B07",  # Algorithm 1 has it inside, forwards and backwards
            "R03",  # the general form has it inside, as PyTorch's RMS norm has
            "R04",  # so has that of Keras
            "L07",  # so has PyTorch's layer norm, which is beside the one here at one ε
            "N03",  # the derivative by s, where ε = s²
            "F02",  # how far a given ε lets a factor through
        },
    ),
    "a gradient that is only the diagonal": Break(
        """
import numpy as np

import normviz.core.backward as core

whole = core.compute_gradients


def diagonal(x, dy, *rest):
    found = whole(x, dy, *rest)
    alone = core.compute_diagonal_gradient(np.broadcast_to(x, np.shape(dy)), found.dxhat, *rest[:2])
    return found._replace(dx=alone)


core.compute_gradients = diagonal
""",
        # With the weights times a, this gradient is 1/a of what it was just as the right one is: B05 and B06 stay.
        {
            "B07",  # Algorithm 1
            "N02",  # this very gradient
        },
    ),
}

RUN = "\nimport sys\nfrom normviz.cli.main import main\nsys.exit(main(['claims', '--json']))"
ONE_THREAD = {"OMP_NUM_THREADS": "1"}
"""All breaks are tried at once."""


@pytest.fixture(scope="module")
def running(tmp_path_factory):
    environment = os.environ | ONE_THREAD | {"NORMVIZ_RESULTS": str(tmp_path_factory.mktemp("results") / "kept.sqlite")}
    processes = {
        name: subprocess.Popen(
            [sys.executable, "-c", each.code + RUN],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env=environment,
        )
        for name, each in BREAKS.items()
    }
    yield processes
    for process in processes.values():
        process.kill()
        process.wait()


@pytest.mark.heavy
@pytest.mark.parametrize("name", BREAKS)
def test_what_is_broken_turns_the_right_claims_red_and_no_others(name, running):
    out, said = running[name].communicate(timeout=300)
    assert running[name].returncode == 1, said
    red = {line.split(":")[1].strip() for line in said.splitlines() if line.startswith("normviz: ")}
    assert red == BREAKS[name].red, said
    assert red >= {each["id"] for each in json.loads(out) if each["verdict"] != each["expected"]}
