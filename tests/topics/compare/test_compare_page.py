"""The compare page as a user meets it, run by Streamlit without a browser."""

import numpy as np
import pytest
from lab_page import open_lab, plots, replaced, said, sound, traces

from normviz.core.normalize import normalize
from normviz.core.registry import SCHEMES, get_scheme
from normviz.core.text import format_number, typeset
from normviz.data.samples import SAMPLES
from normviz.describe import wording
from normviz.topics.compare.comparison import tabulate_properties
from normviz.topics.compare.state import COMPARABLE_KEYS, PREFIX
from normviz.ui import tensor

SHAPE = {"n": "4", "h": "2", "w": "2", "c": "4"}


def open_compare(**link):
    return open_lab("pages/compare.py", **link)


def shown(at):
    """The table's rows: {name: cells}."""
    frame = at.table[0].value
    names, *columns = (list(frame[column]) for column in frame)
    return {name.strip("*"): cells for name, *cells in zip(names, *columns, strict=True)}


@pytest.mark.parametrize(
    "pair", [COMPARABLE_KEYS[k : k + 3] for k in range(0, len(COMPARABLE_KEYS) - 2, 2)], ids="-".join
)
@pytest.mark.parametrize("colour", tensor.COLOURING_NAMES)
def test_every_scheme_in_every_colour(pair, colour):
    at = open_compare(schemes=",".join(pair), colour=colour, focus="1,1,0,2", eps="0.01", **SHAPE)
    schemes = [get_scheme(key, 2, 1) for key in pair]
    x = SAMPLES["uneven"].make((4, 2, 2, 4), 0)
    rows = shown(at)
    assert list(at.table[0].value.columns)[1:] == [scheme.label for scheme in schemes]
    for name, words in tabulate_properties(schemes, x.shape).items():
        assert rows[name] == words
    eps = [0.01 if scheme.eps is not None and scheme.suppression is not None else 0.0 for scheme in schemes]
    xhats = [normalize(x, scheme, e).xhat[1, 1, 0, 2] for scheme, e in zip(schemes, eps, strict=True)]
    assert rows[f"x̂ at x = {format_number(x[1, 1, 0, 2])}"] == [format_number(xhat) for xhat in xhats]
    cubes = plots(at)["cubes"]
    assert len(cubes["hover"]["copies"]) == 3
    assert cubes["labels"] == [wording.format_scheme_label(scheme) for scheme in schemes]
    assert all(scheme.label in cubes["alt"] for scheme in schemes)
    for scheme, copy in zip(schemes, cubes["hover"]["copies"], strict=True):
        bounds = None if scheme.field is None else [b.tolist() for b in scheme.field.compute_bounds(x.shape)]
        assert (copy["bounds"] and [b.tolist() for b in copy["bounds"]]) == bounds


@pytest.mark.parametrize("note", ["value", "mean", "std"])
def test_a_note_over_each_cube(note):
    cubes = plots(open_compare(schemes="batch,layer", focus="1,1,0,2", note=note, **SHAPE))["cubes"]
    x = SAMPLES["uneven"].make((4, 2, 2, 4), 0)
    examples = [normalize(x, SCHEMES[key]).xhat[1] for key in ("batch", "layer")]
    expected = {
        "value": ["", ""],  # the browser writes x̂ of the element
        "mean": [f"average in the frame: {typeset(round(each[..., 2].mean(), 2))}" for each in examples],
        "std": [f"std by channel: {', '.join(f'{each[..., c].std():.2f}' for c in range(4))}" for each in examples],
    }
    assert [each["note"] for each in cubes["hover"]["labels"]["each"]] == expected[note]
    shown = ["instance"] * 2 if note == "mean" else ["batch", "layer"]
    for key, copy in zip(shown, cubes["hover"]["copies"], strict=True):
        for found, bounds in zip(copy["bounds"], SCHEMES[key].field.compute_bounds(x.shape), strict=True):
            np.testing.assert_array_equal(found, bounds)


def test_rows_of_padding_are_named():
    for data, rows in (("padded", [""] * 4 + ["padding"] * 2), ("uneven", [])):
        cubes = plots(open_compare(schemes="batch,layer", data=data, **SHAPE | {"h": "6", "w": "1"}))["cubes"]
        assert cubes["hover"]["labels"]["each"][0]["rows"] == rows


def test_the_chosen_elements_field_is_described_under_each_cube():
    at = open_compare(schemes="batch,group", focus="1,0,1,3", **SHAPE)
    for key, label in (("batch", "Batch"), ("group", "Group")):
        words = wording.describe_field_box(get_scheme(key).field, (1, 0, 1, 3), (4, 2, 2, 4), "NHWC")
        assert f"**{label}**  \n{words}  \nMixes examples" in said(at)


def test_what_is_the_same_on_this_shape_is_said():
    at = open_compare(schemes="batch,instance,layer", n="1", h="2", w="2", c="4")
    assert [box.value for box in at.info] == ["On this shape, x̂ of Batch and Instance is the same."]
    batch, instance, _ = shown(at)["State for inference"]
    assert batch != instance  # so that they are not the same in all
    assert not open_compare(schemes="batch,layer", **SHAPE).info


@pytest.mark.parametrize(("schemes", "count"), [("batch", 1), ("", 0)])
def test_too_few_schemes_are_told(schemes, count):
    at = open_compare(schemes=schemes, **SHAPE)
    assert f"{count} schemes are chosen; 2 to 6" in at.error[0].value
    at.session_state[PREFIX + "schemes"] = ["batch", "rms"]
    assert not sound(at.run()).error


def test_no_more_than_six_fit():
    at = open_compare(schemes=",".join(COMPARABLE_KEYS), **SHAPE)
    assert len(plots(at)["cubes"]["labels"]) == 6


def test_a_tensor_that_is_too_large_for_a_row_is_told():
    at = open_compare(schemes="batch,layer", n="64", h="16", w="16", c="4")
    assert "65,536 elements" in at.error[0].value


def test_the_tensor_follows_from_the_lab():
    at = open_compare(**SHAPE, data="digits", seed="3")
    x = SAMPLES["digits"].make((4, 2, 2, 4), 3)
    assert f"x̂ at x = {format_number(x[0, 0, 0, 0])}" in shown(at)
    assert {key: at.session_state[key] for key in ("n", "h", "w", "c")} == {k: int(v) for k, v in SHAPE.items()}


def test_a_bad_link_is_mended_with_a_note():
    at = open_compare(schemes="batch,layr", n="x")
    assert any("layr" in note for note in replaced(at))
    assert at.session_state[PREFIX + "schemes"] == ["batch", "layer"]


def test_one_scale_of_colours_for_all():
    at = open_compare(schemes="none,batch", colour="normalized", **SHAPE)
    x = SAMPLES["uneven"].make((4, 2, 2, 4), 0)
    largest = max(np.abs(x).max(), np.abs(normalize(x, SCHEMES["batch"], 1e-5).xhat).max())
    assert f"{largest:.3g}" in traces(at, "cubes")[0]["colorbar"]["ticktext"]


def test_a_shape_too_large_for_so_many_cubes_is_made_to_fit():
    at = open_compare()
    at.number_input(key="n").set_value(60_000)
    at = sound(at.run())
    assert at.error[0].value.endswith("170 × 4 × 4 × 6 fits.")
    (button,) = (each for each in at.button if each.label.startswith("Use"))
    assert button.label == f"Use {wording.format_shape((170, 4, 4, 6))}"
    button.click()
    at = sound(at.run())
    assert not at.error
    assert at.session_state["n"] == 170


def test_groups_are_those_that_all_schemes_side_by_side_can_be_cut_into():
    at = open_compare(schemes="group,ghost-batch", groups="4", n="6", h="2", w="2", c="4")
    assert at.selectbox(key="groups").options == ["1", "2"]
    assert replaced(at) == ["Groups G: 4 does not divide N = 6; 2 is used."]
    at = open_compare(schemes="group,batch", groups="4", n="6", h="2", w="2", c="4")
    assert at.selectbox(key="groups").options == ["1", "2", "4"]
    assert replaced(at) == []
