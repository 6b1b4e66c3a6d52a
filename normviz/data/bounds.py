"""What a file from a user may hold: within these bounds, reading it takes at most 100 MB of memory and 2 s of CPU."""

MAX_UPLOAD_BYTES = 5 * 2**20
"""Of a file that is uploaded."""

MAX_UNPACKED_BYTES = 2**24
"""Of a .npz file, and of all its arrays together."""

MAX_ARRAYS = 64
"""In a .npz file."""

MAX_PIXELS = 2**25
"""In a picture: a photograph of 24 megapixels, and some more."""

MAX_DECODED_BYTES = 80_000_000
"""Of a picture while it is decoded: all pixels of a .png file, all coefficients of a .jpg file with several scans."""

MAX_SCANNED_PIXELS = 2**29
"""In a .jpg file, over all its scans and channels. An ordinary progressive one has 14 times as many as pixels."""

MAX_SEGMENTS = 10_000
"""In a picture's file: chunks of .png, markers of .jpg."""
