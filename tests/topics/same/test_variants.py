"""The variants of layer norm: who uses which, what each is invariant to, and what the examples are."""

import numpy as np
import pytest
import torch

from normviz.core.registry import SCHEMES
from normviz.core.transformations import PAPER_TABLE, TRANSFORMATIONS
from normviz.topics.same.detection.detector import detect_normalization
from normviz.topics.same.detection.examples import EXAMPLES
from normviz.topics.same.detection.verdict import explain_detection, summarize_detection
from normviz.topics.same.variants import VARIANT_USES, VARIANTS, is_variant_invariant, tabulate_invariance


def test_every_variant_is_used_by_somebody_with_an_address():
    assert {use.variant for use in VARIANT_USES} == set(VARIANTS)
    assert all(use.url.startswith("https://") for use in VARIANT_USES)


def test_on_a_dense_layer_the_first_two_are_the_papers_row():
    for key in ("layer", "layer-channels"):
        assert (
            tuple(is_variant_invariant(SCHEMES[key], change, "dense") for change in TRANSFORMATIONS)
            == PAPER_TABLE["layer"]
        )
    assert {is_variant_invariant(SCHEMES["layer-spatial"], change, "dense") for change in TRANSFORMATIONS} == {None}


def test_on_a_convolution_all_three_differ():
    rows = {key: [is_variant_invariant(SCHEMES[key], change, "conv") for change in TRANSFORMATIONS] for key in VARIANTS}
    changes = list(TRANSFORMATIONS)
    assert rows["layer-channels"][changes.index("weight-matrix-recentering")]
    assert not rows["layer"][changes.index("weight-matrix-recentering")]
    assert rows["layer-spatial"][changes.index("weight-vector-rescaling")]
    assert rows["layer-spatial"][changes.index("dataset-recentering")]
    assert len({tuple(row) for row in rows.values()}) == 3


def test_the_table_says_it_in_signs_and_words():
    columns = tabulate_invariance()
    assert len(columns) == 1 + 2 * len(VARIANTS)
    assert {cell for name, cells in columns.items() if name != "Change" for cell in cells} == {
        "=\u00a0same",
        "≠\u00a0different",
        "0/0",
    }


@pytest.mark.parametrize("key", EXAMPLES)
def test_every_example_is_found(key):
    example, arrays = EXAMPLES[key], EXAMPLES[key].make_arrays()
    found = detect_normalization(arrays["x"], arrays["y"])
    assert example.scheme in {scheme.key for fit in found.answer for scheme in fit.schemes}
    assert found.is_unique == (key not in ("batch", "one", "torch-tokens"))
    assert summarize_detection(found).startswith(
        ("It was ",) if found.is_unique else ("Cannot tell: ", "Normalized over ")
    )
    assert str(arrays["x"].shape) in example.name


LAYERS = {
    "torch-conv": lambda x: torch.nn.functional.layer_norm(x, (6, 5, 5)),
    "torch-tokens": lambda x: torch.nn.functional.layer_norm(x, (6,)),
    "blog": lambda x: torch.nn.functional.instance_norm(x.permute(0, 3, 1, 2)).permute(0, 2, 3, 1),
}


@pytest.mark.parametrize("key", LAYERS)
def test_examples_are_what_the_layers_of_torch_give(key):
    arrays = EXAMPLES[key].make_arrays()
    xhat = LAYERS[key](torch.from_numpy(arrays["x"].astype(float))).numpy()
    over = (0,) if key == "torch-conv" else tuple(range(xhat.ndim - 1))  # the axes along which γ and β do not vary
    v, w = (each - each.mean(over, keepdims=True) for each in (xhat, arrays["y"]))
    gain = (v * w).sum(over) / (v * v).sum(over)
    assert np.abs(w - gain * v).max() < 1e-5  # y = γ x̂ + β


def test_the_words_of_the_verdicts():
    def said(x, y, layout=None):
        found = detect_normalization(x, y, layout)
        return summarize_detection(found), " ".join(explain_detection(found))

    rng = np.random.default_rng(0)
    x = rng.standard_normal((4, 3, 3, 5))
    assert said(x, x, "NHWC")[0] == "It was no normalization: y is x."
    assert said(x, 0 * x)[0] == "Cannot tell."
    assert "does not depend on x" in said(x, 0 * x)[1]
    none, why = said(x, x * np.tanh(x))
    assert none == "None of these."
    assert "is off by" in why
    few, why = said(x[:1, :1, :1], 2 * x[:1, :1, :1] + rng.standard_normal(5))
    assert few == "Cannot tell."
    assert "The numbers are too few for a γ and a β" in why
