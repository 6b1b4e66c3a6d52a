"""Other names of the schemes: those of frameworks, abbreviations, and what was probably meant."""

import re
from collections.abc import Iterable
from difflib import get_close_matches

from normviz.core.text import join_words

ALIASES = {
    "identity": "none",
    "bn": "batch",
    "syncbatch": "batch",
    "ghost": "ghost-batch",
    "gbn": "ghost-batch",
    "meanonly": "mean-only-batch",
    "dbn": "whitening",
    "decorrelatedbatch": "whitening",
    "ln": "layer",
    "in": "instance",
    "contrast": "instance",
    "frn": "filter-response",
    "gn": "group",
    "t5layer": "rms",
    "llamarms": "rms",
    "qk": "query-key",
    "dn": "divisive",
    "dyt": "dynamic-tanh",
    "tanh": "dynamic-tanh",
    "derf": "dynamic-erf",
    "wn": "weight",
    "ws": "weight-standardization",
    "weightstd": "weight-standardization",
    "sn": "spectral",
    "own": "custom",
}
"""The key of a scheme for other names, written without capitals, signs, dimensions and the word norm."""


def find_scheme_key(name: str, keys: Iterable[str]) -> str | None:
    """Return the key, among `keys`, of the scheme that a name stands for: "batch" for "BatchNorm2d"; None if none fits.

    >>> [find_scheme_key(name, ["batch", "layer-channels"]) for name in ("BatchNorm2d", "layer_channels", "bn", "bach")]
    ['batch', 'layer-channels', 'batch', None]
    """
    keys = list(keys)
    if name in keys:
        return name
    plain = _simplify(name)
    return next((key for key in keys if _simplify(key) == plain), ALIASES.get(plain))


def suggest_key(name: str, keys: Iterable[str]) -> str:
    """Return the end of an error message: "did you mean batch?", or the list of all keys if none is similar."""
    keys = list(keys)
    plain = {_simplify(key): key for key in keys} | ALIASES
    near = dict.fromkeys(plain[each] for each in get_close_matches(_simplify(name), plain, n=3, cutoff=0.6))
    return f"did you mean {join_words(near)}?" if near else f"{', '.join(keys)} are."


def _simplify(name: str) -> str:
    letters = re.sub(r"[^a-z0-9]", "", name.lower())
    return re.sub(r"(normalization|normalisation|norm)?([123]d)?$", "", letters) or letters
