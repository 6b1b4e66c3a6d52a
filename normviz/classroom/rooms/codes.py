"""Codes that students type, secrets of lecturers, and the names under which devices are stored."""

import secrets
from hashlib import sha256

CODE_LETTERS = "23456789BCDFGHJKMNPQRSTVWXZ"
"""Letters and digits of a code: none looks like another, and without A, E, I, O, U they spell no word."""

CODE_LENGTH = 8
"""Length of a code; 27⁸ = 2.8·10¹¹ codes."""


def generate_code() -> str:
    """Return a random code of a class, `CODE_LENGTH` characters of `CODE_LETTERS`."""
    return "".join(secrets.choice(CODE_LETTERS) for _ in range(CODE_LENGTH))


def normalize_code(text: str) -> str | None:
    """Return a typed code in capitals, without spaces and hyphens, or None if it cannot be a code.

    >>> normalize_code("bcdf-2345")
    'BCDF2345'
    """
    code = text[: 4 * CODE_LENGTH].replace(" ", "").replace("-", "").upper()
    return code if len(code) == CODE_LENGTH and set(code) <= set(CODE_LETTERS) else None


def generate_secret() -> str:
    """Return a random secret of 256 bits, as text that may stand in a URL."""
    return secrets.token_urlsafe(32)


def hash_secret(secret: str) -> str:
    """Return the SHA-256 digest of a secret, to be stored instead of it; a random secret needs no salt."""
    return sha256(secret.encode()).hexdigest()


def matches_digest(secret: str, digest: str) -> bool:
    """Return True if the digest belongs to the secret; the time does not depend on either."""
    return secrets.compare_digest(hash_secret(secret), digest)


def hash_device(code: str, device: str) -> str:
    """Return a digest of a device's own name, under which the device is stored in this class."""
    return sha256(f"{code} {device}".encode()).hexdigest()[:32]
