"""The panel on γ and β from elsewhere, run by Streamlit without a browser."""

import re

import pytest
from lab_page import ROOT, said, sound, texts
from streamlit.testing.v1 import AppTest

from normviz.core.schemes import SCHEMES
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design import conditional
from normviz.design.conditional import SOURCES, setting_of, table
from normviz.design.panels.conditional import headline, numbers


def open_page(**link):
    at = AppTest.from_file(ROOT / "app.py", default_timeout=60).switch_page("pages/design.py")
    at.context["theme"] = "light"
    at.query_params.update({"show": "conditional", **link})
    return sound(at.run())


def tables(at):
    return [element.value for element in at.table]


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_is_told_and_measured(source):
    at = open_page(source=source)
    found = table(SCHEMES["instance"], setting_of(3.0, 0))
    assert f"### {headline(found[source])}" in said(at)
    assert SOURCES[source].about in said(at)
    changes, overview = tables(at)
    assert len(changes) == len(overview.columns) - 1 == len(TRANSFORMATIONS)
    assert list(overview.iloc[:, 0]) == [each.name for each in SOURCES.values()]
    for mark, cell in zip(changes["y, by the rule"], found[source].values(), strict=True):
        assert mark.startswith("✔" if cell.predicted else "✘")
    assert "against the rule" not in changes.to_string() + overview.to_string()


@pytest.mark.parametrize("scheme", [key for key in SCHEMES if key != "custom"])
def test_every_scheme(scheme):
    at = open_page(scheme=scheme, source="sums", delta="0.02", seed="7")
    assert (len(at.error), len(at.warning)) == (0, 0)
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan)\b", said(at) + " ".join(texts(at.caption)))


def test_the_headline_says_what_comes_back():
    found = table(SCHEMES["instance"], setting_of(3.0, 0))
    assert headline(found["learned"]) == (
        "y keeps all invariances of x̂: weight matrix re-scaling, weight vector re-scaling, dataset re-scaling, dataset "
        "re-centring and single training case re-scaling."
    )
    assert "y changes with weight matrix re-scaling and weight vector re-scaling, and x̂ does not." in headline(
        found["style"]
    )
    assert headline(found["sums"]).startswith("y ignores nothing. ")
    assert headline(table(SCHEMES["none"], setting_of(3.0, 0))["style"]) == (
        "x̂ is invariant to none of the six changes, and neither is y."
    )


def test_at_delta_1_the_rule_stands_and_factors_are_not_measured():
    changes, _ = tables(open_page(delta="1"))
    measured = dict(zip(TRANSFORMATIONS, changes["y, measured"], strict=True))
    assert all(
        ("so nothing can be told" in measured[key]) == (row.factor is not None) for key, row in TRANSFORMATIONS.items()
    )


def test_a_disagreement_stands_out(monkeypatch):
    monkeypatch.setattr(conditional, "notice", lambda *given: conditional.Notice(False, "nobody looked"))
    changes, overview = tables(open_page())
    assert "against the rule" in changes.to_string()
    assert "against the rule" in overview.to_string()


def test_where_nothing_can_be_told_it_says_so(monkeypatch):
    monkeypatch.setattr(
        "normviz.design.panels.conditional.hollow", lambda *given: "A field of one element, centred, is zero."
    )
    at = open_page()
    assert texts(at.info) == [
        "Nothing can be told of instance normalization on this layer. A field of one element, centred, is zero."
    ]
    assert tables(at) == []


def test_its_values_are_in_the_link_and_others_are_not():
    at = open_page(scheme="layer", delta="10", seed="3", layer="conv")
    assert set(at.query_params) == {"show", "scheme", "delta", "seed"}
    assert {each.label for each in (*at.selectbox, *at.select_slider, *at.number_input)} == {
        "Scheme",
        "δ (re-scaling factor)",
        "Seed",
    }


def test_the_numbers_are_those_of_all_cells():
    found = numbers(table(SCHEMES["layer"], setting_of(3.0, 0)))
    assert {len(column) for column in found.values()} == {len(SOURCES) * len(TRANSFORMATIONS)}
    assert found["predicted"] == found["invariant"]
