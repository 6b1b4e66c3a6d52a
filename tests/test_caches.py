"""What is kept for all sessions is bounded: no cache of the app grows with the number of links that were opened."""

import re

from browsing import ROOT

SOURCES = {path: path.read_text() for path in (ROOT / "normviz").rglob("*.py")}
FOR_GOOD = {
    "_build_cell_questions", "_compress_plotly_script", "_register_component", "build_join_page", "build_page_template",
    "get_lessons", "get_plotly_version", "get_rooms", "list_known_names", "load_digit_components", "load_digits",
    "load_regression", "read_language", "read_page_notes", "read_plotly_script", "read_shipped_lessons",
}  # fmt: skip
"""What is kept without a bound, since it has no arguments, or two or three values of one."""


def found(pattern):
    return [match for source in SOURCES.values() for match in re.findall(pattern, source)]


def test_every_cache_of_results_has_a_bound():
    kept = found(r"st\.cache_data\b(?:.|\n){0,60}")
    assert len(kept) > 10
    assert [text for text in kept if not re.match(r"st\.cache_data\(\s*max_entries=\d{1,3}\b", text)] == []


def test_every_cache_of_functions_has_a_bound():
    assert [text for text in found(r"@lru_cache.*") if not re.match(r"@lru_cache\(maxsize=\d{1,4}[,)]", text)] == []
    assert set(found(r"@(?:functools\.)?cache\ndef (\w+)")) == FOR_GOOD
