"""The characters of all texts are such that fonts of usual machines have them."""

import pytest
from lab_page import ROOT

LAST = "\u2c7f"
"""The last of the block of the subscript j. Behind it stand tone marks and alphabets that DejaVu and others lack."""

TEXTS = sorted(
    path
    for folder in ("normviz", "pages", "docs")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in (".py", ".js", ".css", ".md", ".j2", ".txt") and path.is_file()
)


@pytest.mark.parametrize("folder", sorted({path.parent for path in TEXTS}), ids=lambda path: path.name)
def test_fonts_have_the_characters(folder):
    rare = {path.name: {*path.read_text()} for path in TEXTS if path.parent == folder}
    rare = {name: {letter for letter in letters if letter > LAST} for name, letters in rare.items()}
    assert {name: letters for name, letters in rare.items() if letters} == {}
