"""One's own files in the tensor lab: good ones, bad ones, and numbers that are not finite."""

import io
from math import prod

import numpy as np
import pytest
from direct import general_form, over_members
from lab_page import ACTIVATION, beside, computed, live, messages, open_lab, pick, plots, sound, texts, view_of
from PIL import Image
from strategies import uneven_array

from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.describe import wording
from normviz.topics.lab import state as lab
from normviz.ui import tensor


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def png(height, width):
    stream = io.BytesIO()
    pixels = np.arange(height * width * 3, dtype=np.uint32).reshape(height, width, 3) % 256
    Image.fromarray(pixels.astype(np.uint8)).save(stream, "PNG")
    return stream.getvalue()


def upload(at, name, content):
    at.file_uploader(key="upload").set_value((name, content, "application/octet-stream"))
    return sound(at.run())


# --- files -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "content", "shape"),
    [
        ("a.npy", npy(uneven_array((2, 3, 4, 5), 0)), (2, 3, 4, 5)),
        ("b.csv", b"1,2,3\n4,5,6\n", (2, 1, 1, 3)),
        ("c.png", png(6, 5), (1, 6, 5, 3)),
        ("d.png", png(300, 200), (1, 150, 100, 3)),
    ],
)
def test_a_good_file_is_shown(name, content, shape):
    at = upload(open_lab(data="own", scheme="group", eps="0.1"), name, content)
    assert (tensor.get_view_shape(view_of(at)), at.session_state["own"].shape) == (shape, shape)
    assert (len(at.error), at.session_state["eps"]) == (0, 0.1)
    assert any(text.startswith(name) for text in texts(at.caption))
    assert all(at.number_input(key=size).disabled for size in tensor.SIZE_NAMES)
    assert plots(at)["cube"]["hover"]["shape"] == list(shape)
    assert beside(at) == live(at)


BAD = {
    "object.npy": npy(np.array([{}, 1], dtype=object), allow_pickle=True),
    "text.npy": b"no numbers at all",
    "cut.npy": npy(np.zeros((4, 4, 4, 6)))[:-8],
    "large.npy": npy(np.zeros(MAX_DRAWN_ELEMENTS + 1, np.int8)),
    "words.csv": b"1,2\n3,four\n",
    "cut.png": png(8, 8)[:40],
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_one_error_and_everything_else_stays(name):
    at = upload(open_lab(data="own", scheme="group", colour="value"), "good.csv", b"1,2,3,4\n5,6,7,9\n")
    before, picture = view_of(at), messages(at)["cube"]
    upload(at, name, BAD[name])
    assert len(at.error) == 1
    assert at.error[0].value.count("\n") == 0
    assert (view_of(at), messages(at)["cube"]) == (before, picture)
    upload(at, "better.csv", b"1,2\n")
    assert (len(at.error), tensor.get_view_shape(view_of(at))) == (0, (1, 1, 1, 2))


def test_the_error_goes_with_its_file():
    at = upload(open_lab(data="own"), "text.npy", BAD["text.npy"])
    for data in ("uneven", tensor.OWN_DATA):
        sound(at.selectbox(key="data").select(data).run())
    assert len(at.error) == 0


def test_a_shape_in_the_address_does_not_change_ones_own_data(travelling):
    at = upload(open_lab(data="own"), "good.csv", b"1,2,3,4\n5,6,7,9\n")
    at.query_params["n"] = "9"  # as when the browser goes back to an earlier upload
    at.query_params["focus"] = "8,0,0,0"
    sound(at.run())
    assert (tensor.get_view_shape(view_of(at)), at.session_state["focus"]) == ((2, 1, 1, 4), (1, 0, 0, 0))


@pytest.fixture(scope="module")
def spoilt():
    """The page with data of one's own that hold NaN and Inf."""
    x = uneven_array((2, 3, 4, 6), 0)
    x[0, 0, 0, 0], x[1, 2, 1, 4], x[1, 0, 3, 4] = np.nan, np.inf, -np.inf
    at = upload(open_lab(data="own"), "spoilt.npy", npy(x))
    at.session_state["focus"] = (0, 0, 0, 4)  # a channel with Inf and no NaN
    return sound(at.run())


@pytest.mark.parametrize("key", ACTIVATION)
def test_the_warning_counts_what_nan_and_inf_spoil(spoilt, key):
    pick(spoilt, key)
    scheme, x, (eps, _, _), _ = computed(spoilt)
    (warning,) = (text for text in texts(spoilt.warning) if "infinite" in text)
    assert warning.startswith("3 elements of your data are NaN or infinite.")
    for tab in lab.TABS:
        spoilt.session_state["tab"] = tab
        sound(spoilt.run())
    if scheme.field is None:
        return
    with np.errstate(invalid="ignore"):
        v, xhat = general_form(x, scheme.summation, scheme.suppression, eps)
        wrong = ~np.isfinite(over_members(v * v, scheme.field, np.mean))
    statistics = {scheme.field.find_statistic_index(index, x.shape) for index in zip(*np.nonzero(wrong), strict=True)}
    count = prod(scheme.field.compute_statistics_shape(x.shape))
    assert f": {len(statistics):,} of {wording.pluralize(count, 'statistic')} here" in warning
    assert f"with them {wording.pluralize((~np.isfinite(xhat)).sum(), 'element')} of the result" in warning


@pytest.mark.parametrize("value", [1e300, 1e-300, 1e20])
def test_numbers_at_the_edge_of_their_format_raise_nothing(value):
    at = upload(open_lab(data="own", colour="value"), "edge.npy", npy(np.full((2, 2, 2, 4), value)))
    for tab in lab.TABS:
        at.session_state["tab"] = tab
        sound(at.run())


# --- how a file is read, and what is shown -----------------------------------------------------------------------


def test_channels_first_is_guessed_said_and_changed():
    x = uneven_array((5, 3, 8, 8), 0)
    at = upload(open_lab(data="own"), "torch.npy", npy(x))
    np.testing.assert_array_equal(at.session_state["own"], np.moveaxis(x, 1, -1))
    assert at.toggle(key="own first").value
    assert (
        texts(at.caption)[-1]
        == f"torch.npy: {wording.format_shape(x.shape)}, read as (N, C, H, W), guessed from its shape."
    )
    sound(at.toggle(key="own first").set_value(False).run())
    np.testing.assert_array_equal(at.session_state["own"], x)
    assert tensor.get_view_shape(view_of(at)) == plots_shape(at) == (5, 3, 8, 8)
    assert texts(at.caption)[-1] == f"torch.npy: {wording.format_shape(x.shape)}, read as (N, H, W, C)."
    upload(at, "keras.npy", npy(np.moveaxis(x, 1, -1)))
    assert (at.toggle(key="own first").value, tensor.get_view_shape(view_of(at))) == (False, (5, 8, 8, 3))


def plots_shape(at):
    return tuple(plots(at)["cube"]["hover"]["shape"])


@pytest.mark.parametrize(("name", "content"), [("a.csv", b"1,2\n3,4\n"), ("b.png", png(6, 5))])
def test_what_has_no_order_of_channels_offers_none(name, content):
    at = upload(open_lab(data="own"), name, content)
    assert "own first" not in [toggle.key for toggle in at.toggle]


def test_what_was_done_to_read_a_table_is_said():
    at = upload(open_lab(data="own"), "made.csv", "Höhe;Breite\n1,5;2\n".encode())
    assert texts(at.caption)[-1] == "made.csv: its first row holds names; its commas are decimal points"
    np.testing.assert_array_equal(at.session_state["own"].ravel(), [1.5, 2])


def test_a_failed_upload_says_what_is_shown():
    at = upload(open_lab(data="own"), "text.npy", BAD["text.npy"])
    assert at.error[0].value.endswith(" Uneven noise is shown.")
    upload(at, "good.csv", b"1,2,3,4\n5,6,7,9\n")
    upload(at, "text.npy", BAD["text.npy"])
    assert at.error[0].value.endswith(" good.csv is still shown.")
    assert texts(at.caption)[-1] == "good.csv"


@pytest.mark.parametrize("page", ["tensor_lab", "compare", "identities"])
def test_a_link_to_data_that_are_not_here_says_so_until_it_is_read(page):
    def notes(at):
        return [
            text for text in texts(at.markdown) if text.startswith("Data: this link is to a file of somebody's own")
        ]

    at = open_lab(f"pages/{page}.py", data="own")
    assert "Uneven noise is shown until it is loaded" in notes(at)[0]
    sound(at.button(key="replaced read").click().run())
    assert notes(at) == []
    at = upload(open_lab(f"pages/{page}.py", data="own"), "good.csv", b"1,2,3,4\n5,6,7,9\n")
    assert notes(at) == []
    at = open_lab(f"pages/{page}.py")
    sound(at.selectbox(key="data").set_value("own").run())  # chosen here: the control says what is to be done
    assert notes(at) == []
