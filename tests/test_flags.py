"""Code asks a scheme or its kind for what it needs; few files branch on which scheme or kind it is."""

import re
from pathlib import Path

import pytest

import normviz

PACKAGE = Path(normviz.__file__).parent
MOST_READERS = 5
FLAGS = {
    "acts on weights": r"is_weight_scheme|\.acts_on\b|\.tensor [!=]=",
    "custom": r"is_custom\b|CUSTOM_SCHEME|(\[|key=|key [!=]= )\"custom\"",
    "pointwise": r"^(?!\s*assert).*((scheme|self|row)\.function (is|if|else) |if scheme\.function:)",
    "whitening": r"if matrices(:| else| ==)|(if|and|or|not) \w+\.count_cov|count_cov\w+\(.*\) (and|or|if|[=>])",
    "kind": r"(scheme|self|row)\.kind(\.key)? ([!=]=|is|in) |isinstance\([^)]*\b[A-Z]\w+(Kind|Form)\b",
}
"""Patterns of branches on what a scheme is."""


def list_readers(flag):
    files = (path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".jinja"))
    pattern = re.compile(FLAGS[flag], re.MULTILINE)
    return sorted(
        path.relative_to(PACKAGE).as_posix() for path in files if pattern.search(path.read_text(encoding="utf-8"))
    )


@pytest.mark.parametrize("flag", FLAGS)
def test_few_files_branch_on_what_a_scheme_is(flag):
    readers = list_readers(flag)
    assert 0 < len(readers) <= MOST_READERS, f"{len(readers)} files read it: {', '.join(readers)}"
