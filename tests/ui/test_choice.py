"""The choice of schemes in groups."""

import pytest
from lab_page import open_lab, pick, sound

from normviz.compare.state import KEYS, MOST, PREFIX
from normviz.core.schemes import SCHEMES
from normviz.describe.wording import hint
from normviz.ui.choice import GROUPS, grouped, state_of, words

SIX = "batch,layer,layer-channels,instance,group,rms"


def test_every_scheme_is_in_one_group_with_those_that_act_on_the_same():
    groups = grouped(list(SCHEMES))
    assert list(groups) == list(GROUPS)
    assert sorted(key for members in groups.values() for key in members) == sorted(SCHEMES)
    assert groups["weight"] == [key for key, scheme in SCHEMES.items() if scheme.acts_on == "weight"]
    assert (groups["both"], groups["own"]) == (["layer-weight"], ["custom"])
    assert "weight" not in grouped(KEYS)


def test_alike_schemes_are_told_apart_by_what_they_do():
    layers = [hint(SCHEMES[key]) for key in ("layer", "layer-channels", "layer-spatial")]
    assert layers == ["H·W·C", "C", "H·W"]
    weights = [hint(SCHEMES[key]) for key in ("weight", "weight-standardization", "spectral")]
    assert weights == ["÷ ‖w‖", "− μ, ÷ σ", "÷ σ₁"]
    assert [hint(SCHEMES[key]) for key in ("rms", "group", "none")] == ["C, no mean", "H·W, C in groups", ""]
    of_channels = [hint(SCHEMES[key]) for key in ("scale", "pixel", "query-key")]
    assert of_channels == ["C, no mean, one γ", "C, no mean, no γ", "C in groups, no mean"]
    of_batches = [hint(SCHEMES[key]) for key in ("ghost-batch", "mean-only-batch", "filter-response")]
    assert of_batches == ["H·W, N in groups", "N·H·W, mean only", "H·W, no mean"]
    assert len({words(key) for key in SCHEMES}) == len(SCHEMES)


def test_one_scheme_is_chosen_whatever_its_group():
    at = open_lab(scheme="layer")
    for key in ("spectral", "custom", "none"):
        pick(at, key)
        assert at.session_state["scheme"] == at.query_params["scheme"] == key
        values = {group: at.pills(key=state_of("scheme", group)).value for group in GROUPS}
        assert {value for value in values.values() if value} == {key}


def test_the_help_of_a_group_says_what_each_of_its_schemes_does():
    at = open_lab()
    for group, members in grouped(list(SCHEMES)).items():
        told = at.pills(key=state_of("scheme", group)).help
        assert all(SCHEMES[key].about in told for key in members)


def chosen(at, group, values):
    """The compare page once these are picked among those of a group."""
    return sound(at.pills(key=state_of(PREFIX + "schemes", group)).set_value(values).run())


def test_several_schemes_stand_in_the_order_in_which_they_were_chosen():
    at = open_lab("pages/compare.py", schemes="rms,custom")
    chosen(at, "both", ["layer-weight"])
    chosen(at, "activation", ["batch", "rms"])
    assert at.session_state[PREFIX + "schemes"] == ["rms", "custom", "layer-weight", "batch"]
    chosen(at, "own", [])
    assert at.query_params["schemes"] == "rms,layer-weight,batch"


def closed(at):
    """Whether what is not chosen is shown as what cannot be."""
    return any("pointer-events: none" in str(each.proto) for each in at.get("html"))


@pytest.mark.parametrize("group", ["activation", "own"])
def test_a_seventh_scheme_cannot_be_picked_and_the_page_says_why(group):
    at = open_lab("pages/compare.py", schemes=SIX)
    assert any(f"6 of at most {MOST} are chosen: take one out" in each.value for each in at.caption)
    before = at.session_state[PREFIX + "schemes"]
    more = [*SIX.split(","), "divisive"] if group == "activation" else ["custom"]
    chosen(at, group, more)
    assert at.session_state[PREFIX + "schemes"] == before == SIX.split(",")
    assert at.pills(key=state_of(PREFIX + "schemes", group)).value == [key for key in more if key in before]
    assert closed(at)
    chosen(at, "activation", SIX.split(",")[1:])
    assert any("5 of at most" in each.value for each in at.caption)
    assert not closed(at)
