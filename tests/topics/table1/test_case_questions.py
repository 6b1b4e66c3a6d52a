"""The open case of the Table 1 page as a question: the guess, its answer, and the next case."""

import re

import pytest
from lab_page import plots, replaced, said, sound, texts
from pairs import each_value
from table_page import SMALL, cells_of, open_table, set_value, words_of

from normviz.core.registry import SCHEMES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.table1.cases import format_case_title
from normviz.topics.table1.state import PARAMS, PREFIX, build_table_setting


def view_of(at):
    """The values of the page, by name."""
    return {param.name: at.session_state[param.key] for param in PARAMS}


def guessed(at, vote="yes"):
    """The page once a guess has been made."""
    return sound(at.button(key=f"vote {vote}").click().run())


def pressed(at, label):
    """The page once the button of this label has been pressed."""
    (button,) = (button for button in at.button if button.label == label)
    return sound(button.click().run())


def test_the_first_view_asks_for_a_guess():
    at = open_table()
    rows = plots(at)["grid table"]["rows"]
    assert [(row["name"], row["note"]) for row in rows] == [
        ("No norm", "to compare with"),
        ("Batch norm", "normalizes each neuron over the batch"),
        ("Weight norm", "divides each neuron's weights by their length"),
        ("Layer norm", "normalizes each image over its neurons"),
    ]
    assert all(cell["covered"] for cell in cells_of(at).values())
    assert "Guess 1 of 24" in texts(at.caption)
    assert [button.label for button in at.button][:2] == ["= Yes, the same", "≠ No, differently"]
    (line,) = (text for text in texts(at.caption) if text.startswith("Trained on the "))
    assert re.fullmatch(r"Trained on the .*\. 60 networks, [1-9][\d,]* steps a second\.", line), line


def test_a_covered_answer_is_nowhere_in_what_is_sent():
    at = open_table(cell="batch.case-rescaling", **SMALL)
    assert {key for cell in cells_of(at).values() for key in cell} == {"key", "title", "covered"}
    assert set(plots(at)) == {"grid table", "delta drag", "eps drag"}
    sent = " ".join([*texts(at.markdown), *texts(at.caption), *texts(at.warning), *texts(at.latex)])
    assert not re.search(r"invariant|equal up to rounding|differ by|Final loss|share changes", sent)


@pytest.mark.parametrize(("key", "change"), each_value(SCHEMES, TRANSFORMATIONS))
def test_every_case_asks_and_answers(key, change):
    at = open_table(schemes=key, cell=f"{key}.{change}", **SMALL)
    title = format_case_title(SCHEMES[key], TRANSFORMATIONS[change], build_table_setting(view_of(at)))
    assert f"## {title}" in texts(at.markdown)
    assert "Do both have the same loss at every step?" in said(at)
    at = guessed(at)
    assert "curves twins" in plots(at)
    assert re.search(r"### [=≠≈–] ", said(at))
    assert ("Their learning rate" in said(at) or "learning rate is" in said(at)) == (
        TRANSFORMATIONS[change].weight_factor is not None
    )


def test_guesses_are_counted_and_fill_the_map():
    at = guessed(open_table(**SMALL), "yes")
    assert "### = Right: the losses are the same" in said(at)
    assert "Batch norm is **invariant** to this change." in said(at)
    at = set_value(at, "cell", "batch.case-rescaling")
    assert "Guess 2 of 24 · 1 of 1 right" in texts(at.caption)
    at = guessed(at, "yes")
    assert "### ≠ Not quite: the losses differ" in said(at)
    assert "Batch norm is **not invariant** to this change." in said(at)
    assert "the others change too" in said(at)
    assert "Guess 2 of 24 · 1 of 2 right" in texts(at.caption)
    shown = {key: word for key, word in words_of(at).items() if word}
    assert shown == {"batch.dataset-rescaling": "same", "batch.case-rescaling": "differs"}
    at = set_value(at, "cell", "batch.dataset-rescaling")  # a guess stays
    assert "Guess 1 of 24 · 1 of 2 right" in texts(at.caption)
    at = pressed(at, "Reveal all")
    assert None not in words_of(at).values()
    assert at.query_params["reveal"] == "1"
    at = pressed(at, "Hide answers")
    assert set(words_of(at).values()) == {None}
    assert "Guess 1 of 24" in texts(at.caption)


def test_the_next_case_leads_through_all_that_are_covered():
    at, seen = open_table(**SMALL), []
    for _ in range(24):
        seen.append(at.session_state[PREFIX + "cell"])
        at = guessed(at)
        at = pressed(at, "Next case") if len(seen) < 24 else at
    assert len({*seen}) == 24
    assert seen[:3] == ["batch.dataset-rescaling", "weight.dataset-rescaling", "layer.dataset-rescaling"]
    assert "Next case" not in [button.label for button in at.button]


def test_a_link_of_before_that_covers_the_answers_covers_the_case():
    at = open_table(cover="1", cell="layer.case-rescaling", **SMALL)
    assert replaced(at) == []
    assert at.button(key="cover show").label == "Show"
    assert "## Layer norm, one image of each batch ×\u00a010" in texts(at.markdown)


@pytest.mark.parametrize(("vote", "right"), [("fades", True), ("yes", False), ("no", False)])
def test_a_case_may_learn_nearly_the_same(vote, right):
    at = guessed(open_table(eps="0.1", cell="batch.dataset-rescaling", **SMALL), vote)
    assert f"### ≈ {'Right' if right else 'Not quite'}: the losses are nearly the same" in said(at)
    assert "ε = 0.1 is added under the root" in said(at)


def test_nearly_the_same_is_offered_only_where_epsilon_is_positive():
    assert "vote fades" not in {button.key for button in open_table(**SMALL).button}


def test_a_guess_on_what_says_nothing_is_not_counted():
    at = guessed(open_table(delta="1", cell="batch.dataset-rescaling", **SMALL))
    assert "Guess 1 of 24" in texts(at.caption)
    assert "### – Nothing can be told" in said(at)


def test_a_case_that_the_paper_sees_otherwise_says_so():
    at = open_table(layer="conv", reveal="1", cell="layer.weight-matrix-recentering", **SMALL)
    assert "**≠ Theory.**" in said(at)
    assert "**= The paper.**" in said(at)


def test_where_the_losses_hide_a_difference_the_outputs_show_it():
    link = {"schemes": "dynamic-tanh", "cell": "dynamic-tanh.case-rescaling", "reveal": "1"}
    at = open_table(delta="3", steps="5", **link)
    assert plots(at)["curves twins"]["y"] == "output x̂"
    assert "the plot shows outputs of the first layer" in said(at)
    at = open_table(delta="1.001", steps="5", **link)
    assert "The difference is too small to see here." in said(at)


def test_the_script_closes_before_it_tells_of_another_case():
    at = pressed(guessed(open_table(**SMALL)), "PyTorch script")
    assert len(at.code) == 1
    at = pressed(at, "Next case")
    assert not at.code
    assert cells_of(at)[at.session_state[PREFIX + "cell"]]["covered"]
