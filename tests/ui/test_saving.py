"""Tables as CSV."""

import csv
import io

import pytest
from lab_page import open_lab

from normviz.topics.weights import panels as weights
from normviz.topics.weights.descent import STEPS, Setting
from normviz.topics.weights.state import get_descent_paths
from normviz.ui.saving import format_csv


def test_numbers_keep_their_digits_and_words_their_commas():
    text = format_csv({"c": [0, 1], "mean": [-0.1, 1 / 3], "words, all": ['a "b"', None]})
    assert list(csv.reader(io.StringIO(text))) == [
        ["c", "mean", "words, all"],
        ["0", "-0.1", 'a "b"'],
        ["1", repr(1 / 3), ""],
    ]


@pytest.mark.parametrize(
    ("page", "link"),
    [
        ("tensor_lab", {}),
        ("compare", {}),
        ("identities", {"panel": "detect"}),
        ("invariance", {"panel": "numbers"}),
        ("weights", {}),
    ],
)
def test_the_numbers_of_a_page_can_be_saved(page, link):
    saved = [button.label for button in open_lab(f"pages/{page}.py", **link).get("download_button")]
    assert "Download CSV" in saved


def test_every_step_of_weight_norm_is_saved():
    runs = get_descent_paths(Setting())
    columns = weights.tabulate_descent(runs)
    assert {len(column) for column in columns.values()} == {STEPS + 1}
    assert columns["‖v‖"] == runs["weight"].lengths.tolist()
