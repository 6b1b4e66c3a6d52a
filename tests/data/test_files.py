import io
import pickle
import struct
import tracemalloc
import warnings
import zipfile
import zlib
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from strategies import examples

from normviz.core.errors import InvalidInput
from normviz.core.fields import MAX_DRAWN_ELEMENTS
from normviz.data.bounds import MAX_PIXELS, MAX_UNPACKED_BYTES, MAX_UPLOAD_BYTES
from normviz.data.files import (
    convert_to_tensor,
    is_likely_channels_first,
    name_array_axes,
    read_file,
    read_npy,
    read_npz,
)


def read_upload(name, content, most=MAX_DRAWN_ELEMENTS, channels_first=False):
    """A file as an (N, H, W, C) array."""
    return convert_to_tensor(read_file(name, content, most).array, name, channels_first)


def npy(array, **options):
    stream = io.BytesIO()
    np.save(stream, array, **options)
    return stream.getvalue()


def npy_of(header, body=b"", version=(1, 0)):
    """A .npy file with any text as its header."""
    header = (header if isinstance(header, bytes) else header.encode()) + b"\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header + body


def npy_header(shape, descr="<f8", fortran=False):
    return f"{{'descr': {descr!r}, 'fortran_order': {fortran}, 'shape': {shape}, }}"


def picture(pixels, kind="PNG", **options):
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


# --- what is read -----------------------------------------------------------------------------------------------


@given(st.integers(1, 4).flatmap(lambda n: st.tuples(*[st.integers(1, 4)] * n)), st.booleans())
def test_npy_of_one_to_four_axes_is_filled_up(shape, fortran):
    array = np.arange(np.prod(shape), dtype=float).reshape(shape)
    x = read_upload("a.npy", npy(np.asfortranarray(array) if fortran else array))
    filled = {1: (1, 1, 1, *shape), 2: (shape[0], 1, 1, shape[-1]), 3: (*shape[:2], 1, shape[-1]), 4: shape}
    assert x.shape == filled[len(shape)]
    np.testing.assert_array_equal(x.reshape(shape), array)


@pytest.mark.parametrize("dtype", ["<f8", ">f8", ">f4", "<f2", "<i4", ">i2", "u1", "<u8", "?", "longdouble"])
def test_npy_of_any_real_numbers_becomes_float64(dtype):
    array = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    x = read_upload("a.npy", npy(array))
    assert x.dtype == np.float64
    np.testing.assert_array_equal(x[:, 0, 0, :], array)


def test_npy_of_float32_stays_float32():
    assert read_upload("a.NPY", npy(np.ones((2, 3), np.float32))).dtype == np.float32


@pytest.mark.parametrize("version", [(1, 0), (2, 0), (3, 0)])
def test_every_version_of_npy_is_read(version):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.arange(6.0), version=version)
    np.testing.assert_array_equal(read_npy(stream.getvalue()), np.arange(6.0))


def test_nan_and_inf_are_data_too():
    array = np.array([1.0, np.nan, np.inf, -np.inf])
    np.testing.assert_array_equal(read_upload("a.npy", npy(array)).ravel(), array)
    np.testing.assert_array_equal(read_upload("a.csv", b"1,nan,inf,-inf").ravel(), array)


def test_a_longdouble_beyond_float64_becomes_infinite_without_a_warning():
    assert np.isinf(convert_to_tensor(np.array([np.finfo(np.longdouble).max]))).all()


@pytest.mark.parametrize(
    "content",
    [b"1,2\n3.5,-4e2\n", b"\xef\xbb\xbf 1 , 2\r\n3.5,-4e2", b"1,2\n\n3.5,-400\n\n"],
    ids=["plain", "bom", "gaps"],
)
def test_csv_is_a_table_of_examples_and_channels(content):
    x = read_upload("a.csv", content)
    assert x.shape == (2, 1, 1, 2)
    np.testing.assert_array_equal(x[:, 0, 0], [[1, 2], [3.5, -400]])


def test_csv_of_one_column_and_of_one_number():
    assert read_upload("a.csv", b"1\n2\n3\n").shape == (3, 1, 1, 1)
    assert read_upload("a.csv", b"1").shape == (1, 1, 1, 1)


@pytest.mark.parametrize(
    ("content", "table", "told"),
    [
        (b"height,width\n1,2.5\n3,4\n", [[1, 2.5], [3, 4]], ("its first row holds names",)),
        (b"# made by hand\n\na, b\n1,2\n", [[1, 2]], ("its first row holds names",)),
        (b"1;2.5\n-3;4\n", [[1, 2.5], [-3, 4]], ()),
        (b"1,5;2\n-0,25;1e3\n", [[1.5, 2], [-0.25, 1000]], ("its commas are decimal points",)),
        (b"1,234;0,5\n", [[1.234, 0.5]], ("its commas are decimal points",)),
        (b"0,123;4\n", [[0.123, 4]], ("its commas are decimal points",)),
        (
            b"\xef\xbb\xbfH\xc3\xb6he;Breite\r\n1,5;2\r\n",
            [[1.5, 2]],
            ("its first row holds names", "its commas are decimal points"),
        ),
    ],
)
def test_csv_with_names_semicolons_and_decimal_commas(content, table, told):
    found = read_file("a.csv", content)
    np.testing.assert_array_equal(found.array, table)
    assert found.told == told


def test_names_do_not_count_among_the_numbers():
    assert read_file("a.csv", b"a,b\n1,2\n3,4\n", 4).array.shape == (2, 2)


# --- channels first ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("shape", "first", "axes", "becomes"),
    [
        ((2, 3, 4, 5), True, "NCHW", (2, 4, 5, 3)),
        ((2, 3, 4, 5), False, "NHWC", (2, 3, 4, 5)),
        ((2, 6, 7), True, "NCT", (2, 7, 1, 6)),
        ((2, 6, 7), False, "NTC", (2, 6, 1, 7)),
        ((3, 6, 7), True, "CHW", (1, 6, 7, 3)),
        ((2, 5), True, "NC", (2, 1, 1, 5)),
        ((5,), True, "C", (1, 1, 1, 5)),
    ],
)
def test_channels_may_come_first(shape, first, axes, becomes):
    array = np.arange(np.prod(shape), dtype=float).reshape(shape)
    x = convert_to_tensor(array, channels_first=first)
    assert (name_array_axes(shape, first), x.shape) == (tuple(axes), becomes)
    moved = np.moveaxis(array, axes.index("C"), -1)
    np.testing.assert_array_equal(x.reshape(moved.shape), moved)


@pytest.mark.parametrize(
    ("shape", "first"),
    [
        ((8, 3, 32, 32), True),
        ((8, 32, 32, 3), False),
        ((16, 64, 7, 7), True),
        ((16, 7, 7, 64), False),
        ((8, 3, 20, 30), True),
        ((8, 20, 30, 3), False),
        ((4, 4, 4, 4), False),
        ((4, 5, 6, 7), False),
        ((3, 32, 32), True),
        ((32, 32, 3), False),
        ((3, 8, 64), False),
        ((10, 5), False),
        ((5,), False),
    ],
)
def test_a_shape_suggests_where_the_channels_are(shape, first):
    assert is_likely_channels_first(shape) == first


@pytest.mark.parametrize("kind", ["PNG", "JPEG"])
@pytest.mark.parametrize("channels", [1, 3])
def test_a_picture_is_one_example_in_the_unit_interval(kind, channels):
    pixels = np.full((6, 5, channels), 51, np.uint8)
    x = read_upload(f"a.{kind.lower()}", picture(pixels.squeeze(), kind))
    assert x.shape == (1, 6, 5, channels)
    assert x.dtype == np.float64
    np.testing.assert_allclose(x, 0.2, atol=0.01 if kind == "JPEG" else 1e-15)


def test_a_grey_picture_of_16_bits_keeps_its_shades():
    x = read_upload("a.png", picture(np.array([[0, 2**15, 2**16 - 1]], np.uint16)))
    np.testing.assert_allclose(x.ravel(), [0, 0.5, 1], atol=0.01)


def test_transparency_is_left_out():
    assert read_upload("a.png", picture(np.full((2, 2, 4), 255, np.uint8))).shape == (1, 2, 2, 3)
    assert read_upload("a.png", picture(np.full((2, 2, 2), 255, np.uint8))).shape == (1, 2, 2, 1)


@given(st.tuples(st.integers(1, 9), st.integers(1, 9), st.sampled_from([1, 3])), st.integers(30, 200))
def test_an_averaged_picture_fits_and_keeps_its_shade(shape, most):
    x = read_upload(
        "a.png",
        picture(np.full(shape, 51, np.uint8).squeeze(2) if shape[2] == 1 else np.full(shape, 51, np.uint8)),
        most,
    )
    assert x.shape[0] == 1
    assert x.shape[3] == shape[2]
    assert x.size <= most
    np.testing.assert_allclose(x, 0.2, atol=1e-15)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_pictures_are_averaged_over_blocks(dtype):
    pixels = np.arange(25, dtype=dtype).reshape(5, 5)
    x = read_upload("a.png", picture(pixels), 4) * np.iinfo(dtype).max
    np.testing.assert_allclose(x.squeeze(), [[3, 5], [13, 15]])


# --- what is refused, each in one line --------------------------------------------------------------------------


class Trap:
    """Unpickling it would call a function."""

    def __reduce__(self):
        return (pytest.fail, ("the file was unpickled",))


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, *chunks):
    """A .png file that claims a size and holds these chunks."""
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + b"".join(chunks) + png_chunk(b"IEND", b"")


GOOD_NPY, GOOD_PNG = npy(np.arange(24.0).reshape(2, 3, 4)), picture(np.arange(64, dtype=np.uint8).reshape(8, 8))
GOOD_JPG, GOOD_CSV = picture(np.arange(64, dtype=np.uint8).reshape(8, 8), "JPEG"), b"1,2,3\n4,5.5,nan\n"
NOT_NPY = "not a .npy file that NumPy wrote"
BAD = {
    "object array": ("a.npy", npy(np.array([1, None], dtype=object), allow_pickle=True), "Python objects"),
    "object array that would run code": ("a.npy", npy(np.array([Trap()]), allow_pickle=True), "Python objects"),
    "pickle": ("a.npy", pickle.dumps([1.0, 2.0]), NOT_NPY),
    "complex": ("a.npy", npy(np.ones(3, complex)), "complex128 values; real numbers are needed"),
    "structured": ("a.npy", npy(np.zeros(3, [("x", "f8"), ("y", "i4")])), "real numbers are needed"),
    "structured with objects": ("a.npy", npy(np.zeros(3, [("x", "O")]), allow_pickle=True), "Python objects"),
    "strings": ("a.npy", npy(np.array(["one", "two"])), "real numbers are needed"),
    "empty strings": ("a.npy", npy_of(npy_header((3,), "<U0")), "real numbers are needed|" + NOT_NPY),
    "dates": ("a.npy", npy(np.array(["2020-01-01"], "M8[D]")), "real numbers are needed"),
    "five axes": ("a.npy", npy(np.ones((1,) * 5)), "5 axes"),
    "no axes": ("a.npy", npy(np.float64(1)), "0 axes"),
    "10 GB in the header": (
        "a.npy",
        npy_of(npy_header((1250, 1000, 1000)), b"\0" * 64),
        "promises 10,000,000,000 bytes",
    ),
    "negative axis": ("a.npy", npy_of(npy_header((-3, 4)), b"\0" * 96), NOT_NPY),
    "two negative axes": ("a.npy", npy_of(npy_header((-3, -4)), b"\0" * 96), NOT_NPY),
    "absurd axis": ("a.npy", npy_of(npy_header((10**30,))), "promises"),
    "absurd axis beside none": ("a.npy", npy_of(npy_header((0, 10**30))), "at least one element|" + NOT_NPY),
    "axis that is not a number": ("a.npy", npy_of(npy_header("('x',)")), NOT_NPY),
    "unknown type": ("a.npy", npy_of(npy_header((2,), "<q9"), b"\0" * 16), NOT_NPY),
    "unknown version": ("a.npy", npy_of(npy_header((2,)), b"\0" * 16, (9, 9)), NOT_NPY),
    "header that is no text": ("a.npy", npy_of(b"\xff\xfe{" + b"(" * 200), NOT_NPY),
    "header that nests": ("a.npy", npy_of("-" * 9000 + "1"), NOT_NPY),
    "header that never ends": ("a.npy", npy_of("{'descr': '<f8', 'shape': ((((("), NOT_NPY),
    "header that is too long": ("a.npy", npy_of("{" + " " * 20000 + "}"), NOT_NPY),
    "cut off": ("a.npy", GOOD_NPY[:-1], "cut off"),
    "cut off in the header": ("a.npy", GOOD_NPY[:40], NOT_NPY),
    "empty": ("a.npy", b"", NOT_NPY),
    "text": ("a.npy", b"1, 2, 3\n", NOT_NPY),
    "npz": ("a.npy", None, NOT_NPY),
    "axis of length zero": ("a.npy", npy(np.ones((2, 0))), "at least one element"),
    "empty array": ("a.npy", npy(np.ones(0)), "C = 0: every axis needs at least one element"),
    "words": ("a.csv", b"1,2\n3,four\n", r"row 2, column 2 of the \.csv file is 'four', which is not a number"),
    "head of a table alone": ("a.csv", b"height,width\n", "row 1, column 1 .* is 'height'"),
    "head with a number": ("a.csv", b"height,2\n1,2\n", "row 1, column 1 .* is 'height'"),
    "two heads": ("a.csv", b"height,width\nm,m\n1,2\n", "row 2, column 1 .* is 'm'"),
    "thousands or decimals": ("a.csv", b"1,234;5\n", "1,234, which may be decimals or thousands"),
    "commas and points": ("a.csv", b"1,5;2.5\n", "both commas and points"),
    "semicolons and commas": ("a.csv", b"1,2\n3;4\n", "row 2 of the .csv file has 2 numbers, the first one 1"),
    "long word": ("a.csv", b"x" * 10**6, "row 1, column 1 .* is 'x{50}', which is not a number"),
    "missing cell": ("a.csv", b"1,,3\n", "row 1, column 2 .* is '', which is not a number"),
    "missing row": ("a.csv", b"1,2\n,\n", "row 2, column 1 .* is ''"),
    "ragged rows": ("a.csv", b"1,2\n3,4,5\n", "row 2 of the .csv file has 3 numbers, the first one 2"),
    "empty table": ("a.csv", b"", "holds no numbers"),
    "blank table": ("a.csv", b" \n\r\n\n", "holds no numbers"),
    "only a remark": ("a.csv", b"# 1,2\n", "holds no numbers"),
    "table that is no text": ("a.csv", b"\xff\xfe1\x00,\x002\x00", "not a table of numbers"),
    "table with a null": ("a.csv", b"1,\x00\n", "not a number"),
    "text as picture": ("a.png", b"hello", "not a whole"),
    "empty picture": ("a.jpg", b"", "not a whole"),
    "cut picture": ("a.png", GOOD_PNG[:-30], "not a whole"),
    "cut photograph": ("a.jpeg", GOOD_JPG[: len(GOOD_JPG) // 2], "not a whole"),
    "other picture": ("a.png", None, "not a whole"),
    "too many pixels": ("a.png", png(MAX_PIXELS + 1, 1), "33554433 × 1 pixels; up to 33 million"),
    "bomb": ("a.png", png(10000, 10000), "not a whole|pixels"),
    "bigger bomb": ("a.png", png(2**30, 2**30), "not a whole|pixels"),
    "bomb of text": ("a.png", png(1, 1, png_chunk(b"zTXt", b"k\0\0" + zlib.compress(b" " * 2**27))), "not a whole"),
    "no pixels": ("a.png", png(0, 0), "not a whole"),
    "over 5 MB": ("a.npy", b"\0" * (MAX_UPLOAD_BYTES + 1), r"a\.npy is 5\.0 MB; files up to 5 MB are read"),
    "unknown ending": ("a.txt", b"1", r"a\.txt is not a \.npy, \.csv, \.png or \.jpg file"),
    "no ending": ("a", b"1", r"a is not a \.npy"),
}


def npz():
    stream = io.BytesIO()
    np.savez(stream, a=np.ones(3))
    return stream.getvalue()


MADE_LATER = {"npz": npz, "other picture": lambda: picture(np.zeros((2, 2), np.uint8), "GIF")}


@pytest.mark.parametrize("case", BAD)
def test_bad_files_are_refused_in_one_line(case):
    name, content, message = BAD[case]
    with pytest.raises(InvalidInput, match=message) as error:
        read_upload(name, MADE_LATER[case]() if content is None else content)
    assert "\n" not in str(error.value)
    assert 20 < len(str(error.value)) < 250


@pytest.mark.parametrize(
    "array", [np.ones(()), np.ones((1,) * 5), np.ones(2, complex), np.array(["1"]), np.ones((0, 2))]
)
def test_arrays_that_are_no_tensor_are_refused(array):
    with pytest.raises(InvalidInput):
        convert_to_tensor(array)


mutations = st.lists(
    st.tuples(st.sampled_from(["replace", "insert", "delete", "cut"]), st.integers(0, 2**16), st.binary(max_size=8)),
    min_size=1,
    max_size=6,
)


def mutate(content, changes):
    for how, at, data in changes:
        at %= len(content) + 1
        keep = {"replace": at + len(data), "insert": at, "delete": at + 1 + len(data), "cut": len(content)}[how]
        content = content[:at] + (b"" if how in ("delete", "cut") else data) + content[keep:]
    return content


def assert_a_tensor(x):
    """Something of four axes that the app computes with."""
    assert x.ndim == 4
    assert x.dtype in (np.float32, np.float64)
    assert x.size


@pytest.mark.parametrize("name", ["a.npy", "a.csv", "a.png", "a.jpg"])
@given(changes=mutations)
@examples(400)
def test_spoilt_files_are_read_or_refused_and_nothing_else(name, changes):
    good = {"a.npy": GOOD_NPY, "a.csv": GOOD_CSV, "a.png": GOOD_PNG, "a.jpg": GOOD_JPG}[name]
    with suppress(InvalidInput):
        assert_a_tensor(read_upload(name, mutate(good, changes)))


@given(
    shape=st.tuples() | st.lists(st.integers(-2, 5) | st.integers(-(2**70), 2**70), max_size=6).map(tuple),
    descr=st.sampled_from(["<f8", ">f4", "|b1", "|O", "<U0", "|V0", "|S3", "<c16", "<M8[s]", "", "x", "<f8, <f8"]),
    body=st.integers(0, 200),
    version=st.sampled_from([(1, 0), (2, 0), (3, 0), (4, 0)]),
)
@examples(400)
def test_headers_of_any_claim_are_read_or_refused_and_nothing_else(shape, descr, body, version):
    with suppress(InvalidInput):
        assert_a_tensor(read_upload("a.npy", npy_of(npy_header(shape, descr), b"\0" * body, version)))


def flat(height, width, mode="RGB"):
    """A .png file of few bytes and many pixels."""
    stream = io.BytesIO()
    Image.new(mode, (width, height), 255 if mode == "L" else None).save(stream, "PNG")
    return stream.getvalue()


MOST = 1000
LARGE = {
    "narrow.png": (lambda: flat(2, 2**20), "too narrow"),
    "lines.csv": (lambda: b"1\n" * 2**20, "more than 1,000 numbers"),
    "line.csv": (lambda: b"1," * 2**21, "more than 1,000 numbers"),
}


@pytest.mark.parametrize("name", LARGE)
def test_many_numbers_in_a_small_file_are_refused_before_they_are_held(name):
    make, words = LARGE[name]
    content = make()
    tracemalloc.start()
    try:
        with pytest.raises(InvalidInput, match=words):
            read_upload(name, content, MOST)
        held = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert held < 90 * 2**20  # as text; as lists of numbers they were 600 MB


def test_a_large_picture_is_averaged_before_its_numbers_are_widened():
    content = flat(1024, 1024)
    tracemalloc.start()
    x = read_upload("a.png", content, MOST)
    held = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert x.shape == (1, 18, 18, 3)
    assert held < 2 * 3 * 2**20 + 2**20  # two of one byte a number, where eight bytes are 25 MB


def test_a_picture_of_no_more_numbers_than_that_stays_as_it_is():
    content = flat(10, 100, "L")
    np.testing.assert_array_equal(read_upload("a.png", content, MOST), np.ones((1, 10, 100, 1)))


# --- .npz ---------------------------------------------------------------------------------------------------------


def npz(save=np.savez, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


def packed(parts, **options):
    """A .zip file of these names and contents, as nobody else would write it."""
    stream = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(stream, "w", **options) as file:
        warnings.simplefilter("ignore")  # of names that are there twice
        for name, content in parts:
            file.writestr(name, content)
    return stream.getvalue()


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_npz_of_several_arrays(save):
    arrays = {"x": np.arange(6.0).reshape(2, 3), "eps": np.array(1e-5), "y": np.ones(3, np.float32)}
    found = read_npz(npz(save, **arrays))
    assert list(found) == list(arrays)
    for name, array in arrays.items():
        np.testing.assert_array_equal(found[name], array)
        assert found[name].dtype == array.dtype


BOMB = np.zeros(MAX_UNPACKED_BYTES // 8)
NOT_NPZ = "not a .npz file that NumPy wrote"
BAD_NPZ = {
    "nothing": (b"", NOT_NPZ),
    "an array alone": (npy(np.ones(3)), NOT_NPZ),
    "cut off": (npz(x=np.ones(100))[:400], NOT_NPZ),
    "damaged": (npz(x=np.ones(100)).replace(npy(np.ones(100))[200:300], bytes(100)), NOT_NPZ),
    "Python objects": (packed([("x.npy", npy(np.array([None]), allow_pickle=True))]), "Python objects"),
    "a pickle": (packed([("x.npy", pickle.dumps([1.0]))]), NOT_NPY),
    "text": (packed([("readme.txt", b"hello")]), NOT_NPY),
    "one name twice": (packed([("x.npy", npy(np.ones(1)))] * 2), "two arrays of one name"),
    "a bomb": (npz(np.savez_compressed, x=BOMB), "unpacks to more than"),
    "many that are a bomb together": (npz(np.savez_compressed, x=BOMB[::2], y=BOMB[::2]), "unpacks to more than"),
    "a bomb of another packer": (packed([("x.npy", npy(np.zeros(9)))], compression=zipfile.ZIP_BZIP2), "not use"),
    "too large": (bytes(MAX_UNPACKED_BYTES + 1), "are read"),
}


@pytest.mark.parametrize("case", BAD_NPZ)
def test_bad_npz_is_refused_in_one_line(case):
    content, message = BAD_NPZ[case]
    with pytest.raises(InvalidInput, match=message) as told:
        read_npz(content)
    assert "\n" not in str(told.value)


def test_a_directory_that_promises_less_than_there_is_unpacks_no_more():
    content = npz(np.savez_compressed, x=BOMB)
    lying = content.replace(np.uint32(len(npy(BOMB))).tobytes(), np.uint32(1000).tobytes())
    assert lying != content
    with pytest.raises(InvalidInput):
        read_npz(lying)


@examples(200)
@given(st.data())
def test_a_damaged_npz_is_read_or_refused(data):
    content = bytearray(npz(x=np.arange(12.0), y=np.ones(2)))
    for _ in range(data.draw(st.integers(1, 4))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    with suppress(InvalidInput):
        read_npz(bytes(content))
