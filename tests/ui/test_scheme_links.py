"""What a link says of a scheme leads a page to that scheme."""

from itertools import product
from urllib.parse import urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import shapes_with_fields

from normviz.core.errors import InvalidInput
from normviz.core.fields import OWN, Field, Rule
from normviz.core.registry import SCHEMES, get_scheme
from normviz.topics.compare import state as compare
from normviz.topics.experiments import state as experiments
from normviz.topics.lab import state as lab
from normviz.topics.table1 import state as table1
from normviz.ui import custom
from normviz.ui import scheme as chosen
from normviz.ui.link import clean_values

CUSTOM, SHAPE = SCHEMES["custom"], (4, 3, 2, 6)
WEIGHTS = [None, *(key for key in custom.WEIGHT_SCHEME_LABELS if key != "none")]
FRONTS = pytest.mark.parametrize("front", WEIGHTS)
FIELDS = [
    None,
    "own,full,full,full",
    "full,full,full,own",
    "groups(2),own,own,groups(3)",
    "own,window(1),full,window(2)",
]


def parsed(text):
    return None if text is None else Field.parse(text)


@given(shape_fields=shapes_with_fields(2), has=st.tuples(st.booleans(), st.booleans()), front=st.sampled_from(WEIGHTS))
def test_a_link_to_the_lab_leads_to_what_any_scheme_of_ones_own_computes(shape_fields, has, front):
    shape, *fields = shape_fields
    scheme = CUSTOM.with_fields(*(field if there else None for field, there in zip(fields, has, strict=True)))
    scheme = scheme.with_weight_scheme(front)
    view, _ = clean_values(lab.PARAMS, chosen.make_scheme_link(scheme, shape))
    found = chosen.build_scheme(view)
    assert (found.compute_canonical_key(shape), found.name) == (scheme.compute_canonical_key(shape), scheme.name)


@FRONTS
@pytest.mark.parametrize(("a", "b"), product(FIELDS, FIELDS))
def test_rules_that_a_page_offers_come_back_as_they_are(a, b, front):
    scheme = CUSTOM.with_fields(parsed(a), parsed(b)).with_weight_scheme(front)
    link = chosen.make_scheme_link(scheme, SHAPE)
    view, notes = clean_values(lab.PARAMS, link)
    assert chosen.build_scheme(view) == scheme
    assert not notes
    beside, notes = clean_values(compare.PARAMS, link | {"schemes": "batch,custom"})
    assert chosen.build_schemes(beside) == [SCHEMES["batch"], scheme]
    assert not notes
    assert all(compare.is_relevant(beside, name) for name in custom.CUSTOM_KEYS)


@FRONTS
@pytest.mark.parametrize("layer", ["dense", "conv"])
def test_a_link_to_table_1_and_to_an_experiment_leads_to_the_same_scheme(layer, front):
    first, _ = clean_values(table1.PARAMS, {"layer": layer})
    n, h, w, c = table1.build_table_setting(first).shapes[0]
    for text in ("own,full,full,full", f"groups({n // 2}),full,own,groups({c // 2})", "own,own,own,window(2)"):
        scheme = CUSTOM.with_fields(None, Field.parse(text)).with_weight_scheme(front)
        link = custom.make_custom_parameters(scheme) | {"schemes": "custom"}
        view, _ = clean_values(table1.PARAMS, link | {"layer": layer})
        (found,) = chosen.build_schemes(view)
        assert found.compute_canonical_key((n, h, w, c)) == scheme.compute_canonical_key((n, h, w, c))
        assert found.weight == front
    field = Field.parse("own,full,full,full")
    scheme = CUSTOM.with_fields(field, field).with_weight_scheme(front)
    for show, weighted in (("batch-size", True), ("speed", False)):
        view, _ = clean_values(
            experiments.PARAMS,
            custom.make_custom_parameters(scheme)
            | {"show": show, f"{experiments.make_name_prefix(show)}schemes": "custom"},
        )
        (row,) = experiments.build_shown_setting(view).rows
        assert row.scheme.weight == (front if weighted else None)
        assert experiments.is_relevant(view, "front") == weighted
        assert experiments.is_relevant(view, "a_n")


@pytest.mark.parametrize("key", [key for key in SCHEMES if key != "custom"])
@pytest.mark.parametrize(("groups", "radius"), [(2, 1), (3, 0), (6, 5)])
def test_a_link_leads_to_every_row_with_its_parameters(key, groups, radius):
    scheme, shape = get_scheme(key, groups, radius), (6, 3, 2, 6)
    view, notes = clean_values(lab.PARAMS, chosen.make_scheme_link(scheme, shape))
    assert chosen.build_scheme(view) == scheme
    assert not notes


@pytest.mark.parametrize(("a", "b", "over"), [(1, 2, "C"), (0, 3, "HW"), (2, 2, "HWC")])
def test_a_link_tells_both_radii_and_the_axes_of_the_windows(a, b, over):
    row = SCHEMES["divisive"]
    rules = ([Rule("window", r) if axis in over else OWN for axis in row.axes] for r in (a, b))
    scheme = row.with_fields(*(Field(tuple(each)) for each in rules))
    view, notes = clean_values(lab.PARAMS, chosen.make_scheme_link(scheme, SHAPE))
    assert chosen.build_scheme(view) == scheme
    assert not notes


def test_an_old_link_has_nothing_in_front_and_a_misspelt_one_says_so():
    view, notes = clean_values(lab.PARAMS, {"scheme": "custom"})
    assert (view["front"], chosen.build_scheme(view).weight, notes) == ("none", None, {})
    view, notes = clean_values(lab.PARAMS, {"scheme": "custom", "front": "wieght"})
    assert (view["front"], list(notes)) == ("weight", ["front"])
    for key in custom.WEIGHT_SCHEME_LABELS:
        view, notes = clean_values(lab.PARAMS, {"scheme": "custom", "front": key})
        assert (view["front"], notes) == (key, {})
    for key in ("batch", "", "7"):
        view, _ = clean_values(lab.PARAMS, {"scheme": "custom", "front": key})
        assert view["front"] == "none"


def test_what_stands_in_front_is_left_out_of_links_to_other_schemes():
    for key in SCHEMES:
        view, _ = clean_values(lab.PARAMS, {"scheme": key, "front": "weight"})
        assert lab.is_relevant(view, "front") == (key == "custom")
        assert chosen.build_scheme(view).weight == ("weight" if key in ("custom", "layer-weight") else None)
    with pytest.raises(InvalidInput):
        SCHEMES["custom"].with_weight_scheme("none")


def test_links_are_plain_text():
    link = chosen.make_scheme_link(CUSTOM.with_weight_scheme("spectral"), SHAPE)
    assert set(link) == {"n", "h", "w", "c", "scheme", *custom.CUSTOM_KEYS}
    assert "front=spectral" in urlencode(link)
