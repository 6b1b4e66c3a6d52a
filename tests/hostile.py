"""Files made to cost much memory or time, and what reading each of them costs a process of its own.

`python tests/hostile.py [PART OF A NAME …]` prints that as a table: MB of memory, seconds of CPU, and the outcome.
"""

import io
import json
import struct
import sys
import tempfile
import time
import zlib
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from multiprocessing import TimeoutError, get_context
from pathlib import Path
from threading import Thread

import numpy as np

UPLOAD = 5 * 2**20
MEMBERS = 16 * 2**20


def npy(array):
    stream = io.BytesIO()
    np.save(stream, array)
    return stream.getvalue()


def npy_of(header, body=b"", version=(1, 0)):
    """A .npy file with any text as its header."""
    header = header.encode() + b"\n"
    length = struct.pack("<H" if version == (1, 0) else "<I", len(header))
    return b"\x93NUMPY" + bytes(version) + length + header + body


def npy_header(shape, descr="<f8"):
    return f"{{'descr': {descr!r}, 'fortran_order': False, 'shape': {shape}, }}"


# --- .npz ---------------------------------------------------------------------------------------------------------


def deflated(head, zeros):
    """`head` and then many zeros (in whole MB), packed; made at once, as each MB packs to the same bytes."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15)
    start = packer.compress(head) + packer.flush(zlib.Z_FULL_FLUSH)
    million = packer.compress(bytes(2**20)) + packer.flush(zlib.Z_FULL_FLUSH)
    return start + million * (zeros // 2**20) + packer.flush()


def zip_of(members, repeats=1, extra=b""):
    """A .zip file of (name, packed bytes, method, claimed size, claimed CRC); each stands `repeats` times in its
    directory, with this extra field."""
    body, directory, count = bytearray(), bytearray(), 0
    for name, packed, method, size, crc in members:
        name, at = name.encode(), len(body)
        fields = struct.pack("<HHHHHIII", 20, 0, method, 0, 33, crc, len(packed), size)
        body += b"PK\x03\x04" + fields + struct.pack("<HH", len(name), 0) + name + packed
        for copy in range(repeats):
            called = name if repeats == 1 else b"%x" % copy
            rest = struct.pack("<HHHHHII", len(called), len(extra), 0, 0, 0, 0, at)
            directory += b"PK\x01\x02" + struct.pack("<H", 20) + fields + rest + called + extra
            count += 1
    end = struct.pack("<HHHHIIH", 0, 0, count & 0xFFFF, count & 0xFFFF, len(directory), len(body), 0)
    return bytes(body + directory) + b"PK\x05\x06" + end


def lying_npz(megabytes, claimed=1000, head=None):
    """One member of zeros, of which the directory says that it is small."""
    head = npy_of(npy_header((megabytes * 2**17,))) if head is None else head
    crc = zlib.crc32((head + bytes(claimed))[:claimed])
    return zip_of([("dx.npy", deflated(head, megabytes * 2**20), 8, claimed, crc)])


def npz(save=np.savez, **arrays):
    stream = io.BytesIO()
    save(stream, **arrays)
    return stream.getvalue()


def many_members(size):
    small = npy_of("{'descr':'|u1','fortran_order':False,'shape':()}", b"\0")
    count = size // (2 * len("12345") + len(small) + 30 + 46)
    return zip_of([(f"{k:x}", small, 0, len(small), zlib.crc32(small)) for k in range(count)])


def one_member_many_times(size):
    small = npy(np.zeros(()))
    return zip_of([("x", small, 0, len(small), zlib.crc32(small))], repeats=size // 52)


def long_extra_fields(size):
    small = npy(np.zeros(()))
    count = (size - 1000) // (65532 + 52)
    return zip_of(
        [("x", small, 0, len(small), zlib.crc32(small))], repeats=count, extra=struct.pack("<HH", 9, 0) * 16383
    )


def noise(size):
    return np.random.default_rng(0).integers(0, 2**8, size, dtype=np.uint8)


# --- pictures -----------------------------------------------------------------------------------------------------


def picture(pixels, kind="PNG", **options):
    from PIL import Image

    Image.MAX_IMAGE_PIXELS = None
    stream = io.BytesIO()
    Image.fromarray(pixels).save(stream, kind, **options)
    return stream.getvalue()


def png_chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width, height, bits=8, colour=0, *, before=b"", interlaced=0, filtered=b"\0", split=0):
    """A .png file of zeros: `colour` is 0 grey, 2 RGB, 3 palette, 4 grey and alpha, 6 RGB and alpha; `before`: chunks
    ahead of the pixels; `filtered`: the filter of each row; `split`: so many empty chunks between them."""
    row = filtered + bytes(-(-width * bits * {0: 1, 2: 3, 3: 1, 4: 2, 6: 4}[colour] // 8))
    if interlaced:
        data = zlib.compress(bytes(len(row) * height + 16 * height), 9)
    else:
        packer, data = zlib.compressobj(9), b""
        rows = row * 64
        for _ in range(height // 64):
            data += packer.compress(rows)
        data += packer.compress(row * (height % 64)) + packer.flush()
    head = struct.pack(">IIBBBBB", width, height, bits, colour, 0, 0, interlaced)
    palette = png_chunk(b"PLTE", bytes(768)) if colour == 3 else b""
    pixels = png_chunk(b"IDAT", data[:10]) + png_chunk(b"IDAT", b"") * split + png_chunk(b"IDAT", data[10:])
    return b"\x89PNG\r\n\x1a\n" + png_chunk(b"IHDR", head) + before + palette + pixels + png_chunk(b"IEND", b"")


def filled(chunk, size=UPLOAD - 2**17):
    return chunk * (size // len(chunk))


def scans_of(content):
    """A .jpg file in pieces: what comes before its first scan, and each scan with the tables before it."""
    at = [k for k in range(len(content) - 1) if content[k] == 0xFF and content[k + 1] not in (0, 0xFF)]
    starts = [k for k in at if content[k + 1] == 0xDA]
    cuts = [starts[0]]
    for start in starts[:-1]:
        cuts.append(next(k for k in at if k > start and not 0xD0 <= content[k + 1] <= 0xD7))
    cuts.append(len(content) - 2)
    return content[: cuts[0]], [content[a:b] for a, b in pairwise(cuts)]


def jpeg_of_scans(shape, size, which=-1):
    """A progressive .jpg file of one colour, in which one scan is there again and again."""
    head, scans = scans_of(picture(np.full(shape, 99, np.uint8), "JPEG", progressive=True))
    return head + b"".join(scans) + filled(scans[which], size) + b"\xff\xd9"


def photograph(height, width, **options):
    """A picture with structure of several sizes, as a .jpg file of a few MB."""
    rng = np.random.default_rng(0)
    tile = sum(rng.normal(0, 9, (512 // k, 512 // k, 3)).repeat(k, 0).repeat(k, 1) for k in (1, 8, 64)) + 128
    tiles = np.tile(tile.clip(0, 255).astype(np.uint8), (height // 512 + 1, width // 512 + 1, 1))
    for quality in (40, 20, 10, 5, 2, 1):
        content = picture(tiles[:height, :width], "JPEG", quality=quality, **options)
        if len(content) <= UPLOAD:
            return content
    raise AssertionError("too large")


def with_segments(content, segment, size):
    return content[:2] + filled(segment, size - len(content)) + content[2:]


def jpeg_segment(marker, data):
    return bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data


def exif_bomb():
    """Tags in an EXIF block of several segments, each of which points to all of it."""
    entries, size = 60_000, 4 * 2**20
    tags = b"".join(struct.pack("<HHII", k, 1, size, 8) for k in range(entries))
    block = (b"II*\0\x08\0\0\0" + struct.pack("<H", entries) + tags).ljust(size + 8, b"\0")
    pieces = [jpeg_segment(0xE1, b"Exif\0\0" + block[k : k + 65000]) for k in range(0, len(block), 65000)]
    small = picture(np.zeros((8, 8), np.uint8), "JPEG")
    return b"\xff\xd8" + b"".join(pieces) + small[2:]


def rare_kind(marker):
    content = picture(np.zeros((64, 64), np.uint8), "JPEG")
    return content.replace(b"\xff\xc0", bytes([0xFF, marker]))


# --- all of them ------------------------------------------------------------------------------------------------

NUMBERS = {
    "npy, 5 MB of bytes": ("a.npy", lambda: npy(noise(UPLOAD - 128))),
    "npy, an array that may be drawn": ("a.npy", lambda: npy(np.ones((16, 16, 16, 16), np.longdouble))),
    "npy, sizes that multiply to less than 0": (
        "a.npy",
        lambda: npy_of(npy_header((-(2**31) + 1, 2**33)), bytes(UPLOAD - 200)),
    ),
    "npy, a header of 4 MB": ("a.npy", lambda: npy_of("{" + " " * 2**22, version=(2, 0))),
    "csv, empty lines": ("a.csv", lambda: b"\n" * UPLOAD),
    "csv, blank lines": ("a.csv", lambda: b" \n" * (UPLOAD // 2)),
    "csv, comments": ("a.csv", lambda: "#\u0100\n".encode() * (UPLOAD // 4)),
    "csv, short lines": ("a.csv", lambda: "\u0662\n".encode() * (UPLOAD // 3)),
    "csv, many commas": ("a.csv", lambda: b"," * UPLOAD),
    "csv, many numbers in a line": ("a.csv", lambda: b"1," * (UPLOAD // 2)),
    "csv, a long number": ("a.csv", lambda: b"1" * UPLOAD),
    "csv, a long fraction": ("a.csv", lambda: b"0." + b"0" * (UPLOAD // 2) + b"1" * (UPLOAD // 2 - 2)),
    "csv, long numbers": ("a.csv", lambda: (b"." + b"7" * 79 + b"\n") * 65_000),
    "csv, huge exponents": ("a.csv", lambda: b"9e999999999999999999\n" * 65_000),
    "csv, wide characters": ("a.csv", lambda: ("\U0001f600" + "1" * (UPLOAD - 4)).encode()),
    "csv, a wide comment": ("a.csv", lambda: ("1,2 #" + "\U0001f600" + "1" * (UPLOAD - 9)).encode()),
    "csv, no text": ("a.csv", lambda: bytes(noise(UPLOAD))),
    "csv, decimal commas": ("a.csv", lambda: b"1,23456789012345678901234567890123456;\n" * 32_000),
}
MEGAPIXEL = 2**20
PNGS = {
    "png, 4096 x 4096 in colour": ("a.png", lambda: png(4096, 4096, 8, 2)),
    "png, 4096 x 4096 by a palette": ("a.png", lambda: png(4096, 4096, 8, 3)),
    "png, 4096 x 4096 by a palette of 1 bit": ("a.png", lambda: png(4096, 4096, 1, 3)),
    "png, 4472 x 4472 of 16 bits": ("a.png", lambda: png(4472, 4472, 16, 6, filtered=b"\4")),
    "png, 4096 x 4096 grey of 16 bits": ("a.png", lambda: png(4096, 4096, 16, 0, filtered=b"\4")),
    "png, 4472 x 4472 in colour": ("a.png", lambda: png(4472, 4472, 8, 2, filtered=b"\4")),
    "png, 4472 x 4472 with alpha": ("a.png", lambda: png(4472, 4472, 8, 6, filtered=b"\4")),
    "png, 5792 x 5792 grey": ("a.png", lambda: png(5792, 5792, 8, 0, filtered=b"\4")),
    "png, 5792 x 5792 of 1 bit": ("a.png", lambda: png(5792, 5792, 1, 0)),
    "png, interlaced": ("a.png", lambda: png(4096, 4096, 8, 6, interlaced=1)),
    "png, empty chunks of pixels": ("a.png", lambda: png(64, 64, split=430_000)),
    "png, unknown chunks": ("a.png", lambda: png(64, 64, before=filled(png_chunk(b"prVt", b"")))),
    "png, texts": ("a.png", lambda: png(64, 64, before=filled(png_chunk(b"tEXt", b"k\0")))),
    "png, packed texts": (
        "a.png",
        lambda: png(4096, 4096, 8, 2, before=png_chunk(b"zTXt", b"k\0\0" + zlib.compress(bytes(2**20 - 1))) * 60),
    ),
    "png, packed profiles": (
        "a.png",
        lambda: png(64, 64, before=png_chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(2**20 - 1))) * 4000),
    ),
    "png, a profile of 1 GB": (
        "a.png",
        lambda: png(64, 64, before=png_chunk(b"iCCP", b"k\0\0" + zlib.compress(bytes(2**30)))),
    ),
    "png, noise of 5 MB": ("a.png", lambda: picture(noise(1320 * 1320 * 3).reshape(1320, 1320, 3))),
}
JPEGS = {
    "jpg, 105 KB of scans": ("a.jpg", lambda: jpeg_of_scans((4096, 4096), 105_000)),
    "jpg, as many scans as it may have": ("a.jpg", lambda: jpeg_of_scans((4096, 4096), 26 * 56)),
    "jpg, as many first scans as it may have": ("a.jpg", lambda: jpeg_of_scans((4096, 4096), 26 * 56, 0)),
    "jpg, 5 MB of scans of 64 x 64": ("a.jpg", lambda: jpeg_of_scans((64, 64), UPLOAD - 2**12)),
    "jpg, 5 MB of scans of 65500 x 1": ("a.jpg", lambda: jpeg_of_scans((1, 65500), UPLOAD - 2**12)),
    "jpg, 24 megapixels": ("a.jpg", lambda: photograph(4000, 6000)),
    "jpg, 24 megapixels progressive": ("a.jpg", lambda: photograph(4000, 6000, progressive=True)),
    "jpg, 24 megapixels progressive, full colour": (
        "a.jpg",
        lambda: photograph(4000, 6000, progressive=True, subsampling=0),
    ),
    "jpg, 12 megapixels": ("a.jpg", lambda: photograph(3000, 4000)),
    "jpg, 12 megapixels progressive": ("a.jpg", lambda: photograph(3000, 4000, progressive=True)),
    "jpg, 12 megapixels progressive, full colour": (
        "a.jpg",
        lambda: photograph(3000, 4000, progressive=True, subsampling=0),
    ),
    "jpg, 33 megapixels": ("a.jpg", lambda: picture(np.full((5792, 5792, 3), 99, np.uint8), "JPEG")),
    "jpg, 33 megapixels grey progressive": (
        "a.jpg",
        lambda: picture(np.full((5792, 5792), 99, np.uint8), "JPEG", progressive=True),
    ),
    "jpg, 4 inks": ("a.jpg", lambda: cmyk(3400, 3400, progressive=True)),
    "jpg, 65500 x 500": ("a.jpg", lambda: picture(np.full((500, 65500, 3), 99, np.uint8), "JPEG")),
    "jpg, comments": (
        "a.jpg",
        lambda: with_segments(picture(np.zeros((8, 8), np.uint8), "JPEG"), jpeg_segment(0xFE, b""), UPLOAD),
    ),
    "jpg, profiles": (
        "a.jpg",
        lambda: with_segments(
            picture(np.zeros((8, 8), np.uint8), "JPEG"), jpeg_segment(0xE2, b"ICC_PROFILE\0\1\1"), UPLOAD
        ),
    ),
    "jpg, tags": ("a.jpg", exif_bomb),
    "jpg, arithmetic code": ("a.jpg", lambda: rare_kind(0xC9)),
    "jpg, fill bytes": ("a.jpg", lambda: b"\xff\xd8" + b"\xff" * (UPLOAD - 2)),
    "jpg, junk": ("a.jpg", lambda: b"\xff\xd8" + bytes(UPLOAD - 2)),
}


def cmyk(height, width, **options):
    from PIL import Image

    stream = io.BytesIO()
    Image.fromarray(np.full((height, width, 4), 99, np.uint8), "CMYK").save(stream, "JPEG", **options)
    return stream.getvalue()


def npz_cases(size):
    header = b"\x93NUMPY\x02\x00" + struct.pack("<I", 2**30) + b"{"
    return {
        "npz, a directory that lies": ("answer.npz", partial(lying_npz, 1500)),
        "npz, 0.25 MB of zeros": ("answer.npz", partial(lying_npz, 256)),
        "npz, a directory that lies about what it may": ("answer.npz", partial(lying_npz, 256, 2**24)),
        "npz, a header of 1 GB": ("answer.npz", partial(lying_npz, 1024, head=header)),
        "npz, zeros as promised": ("answer.npz", lambda: npz(np.savez_compressed, out=np.zeros(2**21 - 64))),
        "npz, bytes as promised": ("answer.npz", lambda: npz(np.savez_compressed, out=np.zeros(2**24 - 300, np.uint8))),
        "npz, as large as it may be": ("answer.npz", lambda: npz(out=noise(size - 1000))),
        "npz, many members": ("answer.npz", partial(many_members, size)),
        "npz, one member many times": ("answer.npz", partial(one_member_many_times, size)),
        "npz, extra fields": ("answer.npz", partial(long_extra_fields, size)),
    }


def json_of(report):
    return json.dumps({"layers": [], "findings": [], "notes": [], **report}).encode()


def recording_of(text):
    return npz(np.savez_compressed, report=np.frombuffer(text, np.uint8))


LARGEST = 2 * 2**20
MODELS = {
    "json, nesting": ("a.json", lambda: b"[" * LARGEST),
    "json, nested objects": ("a.json", lambda: b'{"a":' * (LARGEST // 5)),
    "json, empty lists": ("a.json", lambda: b"[" + b"[]," * (LARGEST // 3 - 2) + b"0]"),
    "json, empty objects": ("a.json", lambda: b'{"layers": [' + b"{}," * (LARGEST // 3 - 6) + b"0]}"),
    "json, different names": (
        "a.json",
        lambda: b"{" + b",".join(b'"%x":0' % k for k in range(LARGEST // 12)) + b"}",
    ),
    "json, wide characters": ("a.json", lambda: ('"' + "\U0001f600" + "1" * (LARGEST - 9) + '"').encode()),
    "json, a long number": ("a.json", lambda: b"1" * LARGEST),
    "json, long numbers": ("a.json", lambda: b"[" + b"9" * 4000 + (b"," + b"9" * 4000) * 500 + b"]"),
    "json, 512 layers of one name": ("a.json", lambda: json_of({"layers": [{"layer": "a", "layout": "NC"}] * 512})),
    "json, long notes": ("a.json", lambda: json_of({"notes": ["x" * 4000] * 500})),
    "npz, a report of empty lists": ("a.npz", lambda: recording_of(b"[" + b"[]," * (LARGEST // 3 - 2) + b"0]")),
    "npz, a report of 16 MB": ("a.npz", lambda: recording_of(b" " * (2**24 - 300))),
}  # fmt: skip
"""Reports on models."""

Case = tuple[str, Callable[[], bytes]]
CASES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    **{name: ("tensor", *case) for name, case in (NUMBERS | PNGS | JPEGS).items()},
    **{name: ("answer", *case) for name, case in npz_cases(UPLOAD).items()},
    **{f"{name}, to the detector": ("pair", *case) for name, case in npz_cases(UPLOAD).items()},
    **{f"{name}, of a model": ("model", *case) for name, case in (npz_cases(UPLOAD) | MODELS).items()},
    **{f"{name}, to the command": ("members", *case) for name, case in npz_cases(MEMBERS).items()},
}
"""By name: the reader that the file is for, the file's name, and what makes its content."""


def tensor(name, content):
    """What the pages do with a tensor of one's own."""
    from normviz.core.fields import AXES, MAX_DRAWN_ELEMENTS, check_shape
    from normviz.data.files import convert_to_tensor, read_file

    x = convert_to_tensor(read_file(name, content, MAX_DRAWN_ELEMENTS).array, name)
    check_shape(x.shape, AXES["activation"], MAX_DRAWN_ELEMENTS)
    return x


def answer(name, content):
    """What the page with homework does."""
    from normviz.topics.gradients.exercise import read_answers

    return read_answers(name, content)


def pair(name, content):
    """What the page with the detector does."""
    from normviz.topics.same.detection.uploads import read_pair

    return read_pair([(name, content)])


def model(name, content):
    """What the page of a model does."""
    from normviz.data.recordings import read_model_file
    from normviz.topics.model.reported import parse_model_file

    return parse_model_file(read_model_file(name, content)).layers


def members(name, content):
    """What the command that checks homework does."""
    from normviz.data.files import read_npz

    return read_npz(content)


def many_sessions(name, content):
    """What the pages of four sessions do at once."""
    threads = [Thread(target=tensor, args=(name, content)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return content


CASES["png, 4096 x 4096 in colour, four at once"] = ("many_sessions", *PNGS["png, 4096 x 4096 in colour"])


def import_readers():
    """Import all that a reader imports, and start no thread: a fork would not have it."""
    from PIL import Image

    import normviz.topics.gradients.exercise
    import normviz.topics.model.reported
    import normviz.topics.same.detection.uploads  # noqa: F401

    Image.preinit()
    read_npz = partial(members, "a.npz")
    read_npz(npz(x=np.zeros(3)))


def status(key):
    return int(next(line for line in Path("/proc/self/status").read_text().splitlines() if key in line).split()[1])


def write(case, path):
    Path(path).write_bytes(CASES[case][2]())


def measure(case, path):
    """MB of memory beyond what there was before the file, seconds of CPU, and the outcome."""
    reader, name, _ = CASES[case]
    before = status("VmRSS")
    Path("/proc/self/clear_refs").write_text("5")  # the peak starts anew
    start = time.process_time()
    try:
        found = globals()[reader](name, Path(path).read_bytes())
        outcome = f"read: {found.shape if isinstance(found, np.ndarray) else len(found)}"
    except ValueError as error:
        outcome = str(error)
    seconds = time.process_time() - start
    return {"case": case, "MB": (status("VmHWM") - before) / 1024, "s": seconds, "outcome": outcome}


def costs(cases):
    """What each case costs a process of its own, which begins with all that is imported for it."""
    import_readers()
    with tempfile.TemporaryDirectory() as folder, get_context("fork").Pool(1, maxtasksperchild=1) as pool:
        for case in cases:
            path = str(Path(folder) / "content")
            pool.apply(write, (case, path))
            try:
                yield pool.apply_async(measure, (case, path)).get(timeout=90)
            except TimeoutError:
                yield {"case": case, "MB": float("inf"), "s": float("inf"), "outcome": "not done after 90 s"}
                return  # the process is still at it


def main(*words):
    as_json, words = "--json" in words, [word for word in words if word != "--json"]
    for found in costs([case for case in CASES if not words or any(word in case for word in words)]):
        if as_json:
            print(json.dumps(found), flush=True)
        else:
            print("{MB:7.0f} MB {s:7.2f} s  {case:60} {outcome:.110}".format(**found), flush=True)


if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).parents[1])]
    main(*sys.argv[1:])
