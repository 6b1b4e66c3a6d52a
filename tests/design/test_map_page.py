"""The map, run by Streamlit without a browser: its facts, the chosen set, and the ways on."""

from csv import reader

import pytest
from lab_page import ROOT, plots, sound
from streamlit.testing.v1 import AppTest

from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.lattice import order, simplest
from normviz.design.lattice_words import numbers
from normviz.design.search import WEIGHTS
from normviz.ui import custom
from normviz.ui.saving import csv_text
from normviz.ui.stories import STORIES


def open_map(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/design.py")
    at.context["theme"] = "light"
    at.query_params.update({"show": "map"} | link)
    return sound(at.run())


def words(at):
    return " ".join(each.value for each in at.markdown)


def drawing(at):
    return plots(at)["map diagram"]


@pytest.mark.parametrize("layer", ["dense", "conv"])
@pytest.mark.parametrize("weights", [*WEIGHTS, "any"])
def test_every_map_is_shown_as_picture_words_and_table(layer, weights):
    every = order(layer, WEIGHTS if weights == "any" else (weights,))
    at = open_map(layer=layer, weights=weights)
    assert len(drawing(at)["cards"]) == len(at.table[0].value) == len(every.sets)
    assert f"**{every.schemes:,} schemes**" in words(at)
    file = [*reader(csv_text(numbers(every, {})).splitlines())]
    assert file[0] == [*TRANSFORMATIONS, "schemes", "named", "not counted"]
    assert sum(int(row[6]) for row in file[1:]) == every.schemes


def test_the_set_of_a_link_is_chosen_and_one_that_there_is_not_is_said():
    batch = "weight-matrix-rescaling,weight-vector-rescaling,dataset-rescaling,dataset-recentering"
    at = open_map(set=batch)
    assert drawing(at)["chosen"] == batch
    assert "batch normalization" in words(at)
    assert "differs least" not in words(at)
    at = open_map(set=",".join(TRANSFORMATIONS))
    assert "differs least" in words(at)
    assert at.query_params["set"] == ",".join(TRANSFORMATIONS)
    at = open_map(weights="weight", set="")
    assert "Of the schemes on a dense layer behind weight normalization, each ignores some change." in words(at)


def test_the_way_to_the_search_asks_for_just_this_set():
    at = open_map(layer="conv", set="dataset-recentering")
    at = sound(at.button(key="find these").click().run())
    asked = {key: at.session_state[f"design {key}"] for key in TRANSFORMATIONS}
    assert asked == {key: "need" if key == "dataset-recentering" else "without" for key in TRANSFORMATIONS}
    assert at.session_state["design show"] == "find"
    assert at.query_params["dataset-recentering"] == "need"


def test_the_ways_on_are_to_the_named_schemes_or_to_the_simplest():
    unnamed = next(kind for kind in order("dense").kinds if not kind.names.keys)
    named, simple = (
        [link.proto.query_string for link in open_map(**link).get("page_link") if "scheme" in link.proto.query_string]
        for link in ({}, {"set": ",".join(unnamed.invariances)})
    )
    assert "layer-channels" in named[0]
    rules = custom.link_of(simplest(unnamed, "dense"))
    assert "schemes=custom" in simple[0]
    assert "scheme=custom" in simple[1]
    assert all(f"{key}={value}" in way for way in simple for key, value in rules.items())


def test_the_takeaway_has_the_numbers_of_the_map():
    every = order("conv")
    takeaway = next(story.takeaway for story in STORIES if story.page == "design")
    assert every.schemes > 2000
    assert f"only {len(every.kinds)} different sets" in takeaway
    assert len(order("conv", WEIGHTS).kinds) != len(every.kinds)
    assert "Without a weight scheme in front" in takeaway
    assert all(len(each) < len(TRANSFORMATIONS) for each in every.sets)
