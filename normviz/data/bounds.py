"""Bounds for files from users. Within them, reading takes at most 100 MB of memory and 2 s of CPU."""

MAX_UPLOAD_BYTES = 5 * 2**20
"""The size of an uploaded file."""

MAX_UNPACKED_BYTES = 2**24
"""The size of a .npz file, and of all its arrays together."""

MAX_ARRAYS = 64
"""The number of arrays in a .npz file."""

MAX_REPORT_BYTES = 2 * 2**20
"""The size of a report on a model, as JSON."""

MAX_LAYERS = 512
"""The number of layers in a report on a model."""

MAX_PIXELS = 2**25
"""The number of pixels of a picture: a photograph of 24 megapixels, and some more."""

MAX_DECODED_BYTES = 80_000_000
"""The size of a decoded picture: all pixels of .png, all coefficients of a .jpg file with several scans."""

MAX_SCANNED_PIXELS = 2**29
"""The number of pixels over all scans and channels of a .jpg file; 14 times its pixels if progressive."""

MAX_SEGMENTS = 10_000
"""The number of parts in a picture's file: chunks of .png, markers of .jpg."""
