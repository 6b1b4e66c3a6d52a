"""The variants of layer norm and the detector as a user meets them, run by Streamlit without a browser."""

import io

import numpy as np
import pytest
from lab_page import latex, open_lab, plots, said, sound, texts

from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES
from normviz.core.text import format_number
from normviz.data.samples import SAMPLES
from normviz.describe.wording import SchemeOnShape, describe_field_box
from normviz.topics.same.detection.examples import EXAMPLES
from normviz.topics.same.panels.detection import UPLOAD_KEY
from normviz.topics.same.state import OWN_FILES
from normviz.topics.same.variants import VARIANT_USES, VARIANTS


def open_page(panel="variants", **link):
    return open_lab("pages/identities.py", panel=panel, **link)


def open_detector(**link):
    return open_page("detect", **link)


def upload(at, *files):
    at.file_uploader(key=UPLOAD_KEY).set_value([(name, content, "application/octet-stream") for name, content in files])
    return sound(at.run())


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def test_a_cube_for_each_variant_and_what_it_computes():
    at = open_page(n="3", h="2", w="4", c="5", focus="1,0,3,2", eps="0.01", seed="7")
    x = SAMPLES["uneven"].make((3, 2, 4, 5), 7)
    cubes = plots(at)["cubes"]
    assert cubes["labels"] == [SCHEMES[key].label for key in VARIANTS]
    assert tuple(cubes["focus"]) == (1, 0, 3, 2)
    for key in VARIANTS:
        scheme = SCHEMES[key]
        assert SchemeOnShape(scheme, x.shape).describe_statistic_counts() in said(at)
        assert describe_field_box(scheme.field, (1, 0, 3, 2), x.shape, scheme.axes) in said(at)
        assert f"x̂ = {format_number(normalize(x, scheme, 0.01).xhat[1, 0, 3, 2])}" in said(at)
    assert len(latex(at)) == 2 * len(VARIANTS)
    assert len(at.table[0].value) == len(VARIANT_USES)


@pytest.mark.parametrize(
    ("shape", "words"),
    [
        ({"h": "1", "w": "1"}, ["Layer and Layer (channels) are one", "Layer (spatial): every field is a single"]),
        ({"c": "1"}, ["Layer and Layer (spatial) are one", "Layer (channels): every field is a single"]),
        ({"n": "1"}, ["Layer (spatial) is batch norm"]),
        ({"c": "2"}, ["Layer (channels): of two elements"]),
        ({"h": "1", "w": "1", "c": "1", "eps": "0"}, ["every field is a single element, x − μ = 0, and x̂ = 0/0"]),
        ({}, []),
    ],
)
def test_what_a_shape_makes_of_the_variants(shape, words):
    notes = list(texts(open_page(**shape).info))
    assert all(any(each in note for note in notes) for each in words)
    assert bool(notes) == bool(words)


@pytest.mark.parametrize("key", EXAMPLES)
def test_examples_to_try(key):
    at = open_detector(**{"try": key})
    assert len(at.success) == (key not in ("batch", "one", "torch-tokens"))
    assert len(at.warning) == (key in ("batch", "one", "torch-tokens"))
    assert len(at.code) == len(at.success)


@pytest.mark.parametrize("framework", ["PyTorch", "Keras"])
def test_code(framework):
    at = open_page(code=framework)
    assert all(framework.lower().removeprefix("py") in block.value for block in at.code[:3])


def test_ones_own_files_are_judged_and_stay_where_the_next_are_no_good():
    at = open_detector(**{"try": OWN_FILES})
    assert "Upload the input and the output" in at.info[-1].value
    x = np.random.default_rng(0).standard_normal((4, 6, 5, 5))
    y = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 1e-6)
    upload(at, ("mine.npz", npz(x=x, y=y)))
    assert "It was layer normalization over channels." in at.success[0].value
    assert "axis 1 of (N, C, H, W); ε = 10⁻⁶; no γ, no β" in at.success[0].value
    upload(at, ("bad.npz", b"nothing"))
    assert "not a .npz file" in at.error[0].value
    assert "still looked at" in at.error[0].value
    assert at.success
    sound(next(each for each in at.button if each.label == "Swap x and y").click().run())
    assert not at.success  # x is no normalization of y


def test_a_layout_that_the_arrays_do_not_have_is_told():
    at = open_detector(**{"try": "dense", "layout": "NHWC"})
    assert "'NHWC' has 4 axes" in at.error[0].value


def test_a_tensor_too_large_to_be_drawn_is_told_and_another_offered():
    at = open_page(n="64", h="32", w="32", c="1")
    assert "are drawn" in at.error[0].value
    assert any(button.label.startswith("Use ") for button in at.button)


def test_sizes_typed_far_above_the_limit_cost_no_memory():
    at = open_page()
    for size in "nhwc":
        at.number_input(key=size).set_value(MAX_DRAWN_ELEMENTS)
    at.run()
    assert not at.exception
    assert "are drawn" in at.error[0].value
