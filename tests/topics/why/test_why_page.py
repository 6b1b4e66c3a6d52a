"""The page on why as a user meets it, run by Streamlit without a browser."""

import re

import numpy as np
import pytest
from lab_page import latex, open_lab, plots, said, sound, texts

from normviz.charts.palette import THEMES
from normviz.core.registry import SCHEMES
from normviz.describe.seeds import format_mean_percent
from normviz.topics.why import history, identity, learning, saturation, whitening
from normviz.topics.why.panels import PANELS
from normviz.topics.why.state import ADVANCED, BELONGS, PARAMS, PREFIX, SHOWN, is_relevant

SCRIPT = "pages/why.py"
FIGURES = {
    "learning": {"learning", "learning normalized", "rates"},
    "whitening": {"before", "made", "batches"},
    "saturation": {"bands", "bands normalized", "saturated"},
    "outside": {"bias", "loss"},
    "identity": {"lines"},
    "history": set(),
}


def open_page(**link):
    return open_lab(SCRIPT, **link)


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("show", SHOWN)
def test_every_view(show, theme):
    at = open_lab(SCRIPT, theme, show=show)
    assert set(plots(at)) == FIGURES[show]
    assert all(len(plot["alt"]) > 20 for plot in plots(at).values())
    assert all(plot["figure"]["layout"]["font"]["color"] == THEMES[theme].ink for plot in plots(at).values())
    assert (len(at.error), len(at.info), len(at.warning)) == (0, 0, 0)
    assert "### " in said(at)  # the sentence that says what to see
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan)\b", said(at))


@pytest.mark.parametrize("points", ["digits", "own"])
@pytest.mark.parametrize("show", SHOWN)
def test_every_control_that_means_something_is_offered(show, points):
    at = open_page(show=show, points=points)
    widgets = [*at.button_group, *at.number_input, *at.slider, *at.select_slider, *at.selectbox, *at.toggle]
    view = {param.name: at.session_state[param.key] for param in PARAMS}
    offered = {each.key.removeprefix(PREFIX) for each in widgets} - {"show row", "show advanced", "show"}
    button = {"seed"} if show == "learning" else set()  # "Train again" takes other seeds
    assert offered == {p.name for p in PARAMS if is_relevant(view, p.name)} - {"show"} - button


def test_a_button_trains_again_from_seeds_that_are_not_shipped():
    at = open_page(rate="0.3")
    assert "in advance" in " ".join(texts(at.caption))
    (again,) = [each for each in at.button if each.label.startswith("Train again")]
    at = sound(again.click().run())
    assert at.query_params["seed"] == str(saturation.SEEDS)
    words = " ".join(texts(at.caption))
    assert f"from seeds {saturation.SEEDS} to {2 * saturation.SEEDS - 1}" in words
    assert "trained just now" in words
    assert set(plots(at)) == {"learning", "learning normalized"}


def test_what_means_nothing_is_not_offered():
    def offered(**link):
        at = open_page(**link)
        return {each.label for each in (*at.selectbox, *at.select_slider, *at.number_input, *at.button_group)}

    own = offered(show="whitening", points="own")
    assert "First feature" in offered(show="whitening") - own
    assert {"Correlation", "Scale of x₀ against x₁"} <= own - offered(show="whitening")
    assert offered(show="history") == {"Show"}
    assert {"Learning rate", "Scale of the initial weights"} < offered()


@pytest.mark.parametrize(
    ("link", "show"),
    [({}, "learning"), ({"rate": "0.1"}, "learning"), ({"stage": "zca"}, "whitening"), ({"eps": "0.1"}, "whitening"),
     ({"points": "own", "seed": "3"}, "whitening"), ({"show": "learning", "stage": "zca"}, "learning"),
     *(({"show": show}, show) for show in SHOWN)],
)  # fmt: skip
def test_links_of_before_open_what_they_opened(link, show):
    at = open_page(**link)
    assert set(plots(at)) == FIGURES[show]
    tabs = at.button_group(key=f"{PREFIX}show row")
    assert tabs.value == ("advanced" if show in ADVANCED else show)
    assert len(tabs.options) == 5


def test_a_tab_shows_its_panel_and_the_last_one_a_second_row():
    at = open_page()
    assert len(at.button_group) == 1
    at = sound(at.button_group(key=f"{PREFIX}show row").set_value("advanced").run())
    assert set(plots(at)) == FIGURES["outside"]
    at = sound(at.button_group(key=f"{PREFIX}show advanced").set_value("identity").run())
    assert set(plots(at)) == FIGURES["identity"]
    assert at.query_params["show"] == "identity"
    at = sound(at.button_group(key=f"{PREFIX}show row").set_value("learning").run())
    assert set(plots(at)) == FIGURES["learning"]
    assert "show" not in at.query_params


def test_every_value_belongs_somewhere():
    assert set(BELONGS) < {param.name for param in PARAMS}
    assert all(set(shown) <= set(SHOWN) for shown in BELONGS.values())
    assert set(PANELS) == set(SHOWN) == set(FIGURES)


# --- whitening ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", whitening.STAGES)
@pytest.mark.parametrize("link", [{}, {"points": "own", "correlation": "1"}, {"eps": "1"}, {"eps": "0"},
                                  {"first": "all", "second": "all", "eps": "0"}, {"size": "2"}])  # fmt: skip
def test_what_is_drawn_is_what_is_made(stage, link):
    at = open_page(show="whitening", stage=stage, **link)
    view = {param.name: at.session_state[param.key] for param in PARAMS}
    x = (
        whitening.compute_digit_features(view["first"], view["second"])
        if view["points"] == "digits"
        else whitening.sample_normal_cloud(view["correlation"], view["ratio"], view["seed"])
    )
    made = whitening.STAGES[stage](x, view["eps"])
    drawn = plots(at)["made"]["figure"]["data"][0]
    np.testing.assert_allclose(np.stack([drawn["x"], drawn["y"]], axis=-1), made[:500], atol=1e-6)
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan)\b", said(at) + " ".join(latex(at)))
    line = link.get("correlation") == "1" or link.get("first") == "all"
    assert ("All points lie on a line" in said(at)) == (line and stage in ("zca", "pca"))
    assert ("variances σ²/(σ²+ε) (difference 0" in " ".join(texts(at.caption))) == (stage == "scaled")


# --- saturation, and outside of the gradient ----------------------------------------------------------------------


def test_the_figures_say_the_accuracies_of_the_networks_drawn():
    for start in ("4", "0.5"):
        at = open_page(start=start)
        found = learning.find_shipped_results(saturation.Setting(start=float(start)))
        levels = [format_mean_percent(found[name].accuracy[-1]) for name in learning.KIND_NAMES.values()]
        for key, level in zip(("learning", "learning normalized"), levels, strict=True):
            assert level in str(plots(at)[key]["figure"]["layout"])
        lines = [each for each in plots(at)["learning"]["figure"]["data"] if each["line"]["width"] < 3]
        assert len(lines) == saturation.SEEDS
        np.testing.assert_allclose(lines[0]["y"], 100 * found["without batch norm"].accuracy[:, 0], atol=1e-4)


def test_the_answer_counts_the_rates_at_which_all_networks_learn():
    sweeps = learning.find_shipped_sweeps(saturation.Setting())
    plain, normed = (sweeps[name].robust_count for name in learning.KIND_NAMES.values())
    assert normed > plain
    at = open_page()
    counts = f"at {normed} of {len(saturation.RATES)} learning rates with batch norm"
    assert f"{counts}, at {'only ' * (plain < normed)}{plain} without" in said(at)
    best = [format_mean_percent(sweep.accuracy[sweep.best_rate_index]) for sweep in sweeps.values()]
    assert f"At the best rate of each: {best[0]} without batch norm, {best[1]} with it." in said(at)


def test_the_sentences_on_saturation_follow_the_run():
    learns, stuck = said(open_page(show="saturation", rate="1")), said(open_page(show="saturation", start="8"))
    assert "have not learned to read" not in learns
    assert "Those without have not learned to read" in stuck
    shares = learning.find_shipped_results(saturation.Setting(start=8.0))["without batch norm"].saturated
    assert format_mean_percent(shares[:, shares.mean(0).argmax()]) in stuck
    small = said(open_page(show="saturation", start="0.5", rate="0.03"))
    assert "Nothing saturates here" in small
    assert re.search(r"have not learned to read: .* lie within [\d.·⁻⁰-⁹]+, with batch norm within [1-3]\.", small)


@pytest.mark.parametrize("link", [{"depth": "1", "layer": "5"}, {"depth": "6", "rate": "10", "start": "8"}])
def test_extreme_networks(link):
    at = open_page(show="saturation", **link)
    assert not re.search(r"\de[-−+]?\d|\b(inf|nan)\b", said(at) + " ".join(texts(at.caption)))


@pytest.mark.parametrize(("rate", "steps"), [("0.001", "1"), ("0.1", "50"), ("10", "500")])
def test_b_grows_and_the_loss_stands_still(rate, steps):
    at = open_page(show="outside", step_size=rate, steps=steps)
    grown = re.search(r"b grows to ([\d.·⁰¹²³⁴]+), and the loss changes by 0( to rounding)?; inside", said(at))
    assert grown, said(at)
    assert float(grown[1]) == pytest.approx(float(rate) * int(steps), rel=1e-3)


# --- γ and β, history ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["0", "0.3", "1"])
@pytest.mark.parametrize("eps", ["0", "1"])
def test_the_identity_is_told_at_every_place(part, eps):
    at = open_page(show="identity", part=part, eps=eps)
    assert re.search(r"the layer does nothing: y differs from x by (0|0 to rounding)\.", said(at))
    assert ("of the way there" in said(at)) == (part != "1")
    found = identity.undo_batch_norm(float(part), float(eps), 0)
    drawn = {each["name"]: each for each in plots(at)["lines"]["figure"]["data"]}
    np.testing.assert_allclose(drawn["c = 0"]["y"], [found.y[0].min(), found.y[0].max()], atol=1e-6)


def test_the_first_values_are_a_link_to_their_experiment():
    assert "(experiments?show=start&start_schemes=batch)" in said(open_page(show="identity"))


def test_no_scheme_after_batch_norm_contradicts_what_the_headline_says_of_them():
    """Every later scheme does something of what is said, and everything that is said is done by some scheme."""
    batch = SCHEMES["batch"]
    dated = [scheme for scheme in history.sort_schemes() if scheme.reference.arxiv]
    later = {scheme.key: scheme for scheme in dated[dated.index(batch) + 1 :]}
    does = {
        "average over other axes": lambda s: s.is_activation_scheme and s.field and s.field != batch.field,
        "divide by something else or by nothing": lambda s: not s.is_general_form or s.suppression is None,
        "act on the weights": lambda s: s.weight_part is not None,
        "use no statistics": lambda s: not s.fields,
    }
    headline = next(text for text in texts(open_page(show="history").markdown) if text.startswith("### Batch norm"))
    assert all(what in headline for what in does)
    assert all(any(done(scheme) for scheme in later.values()) for done in does.values())
    assert [key for key, scheme in later.items() if not any(done(scheme) for done in does.values())] == []
    for words, only in {"use no statistics": "dynamic-tanh", "or by nothing": "mean-only-batch"}.items():
        assert words in headline
        assert only in later


def test_every_paper_is_in_the_history():
    at = open_page(show="history")
    table = at.table[0].value
    papers = {each for scheme in history.sort_schemes() for each in scheme.references} | {*history.PRECURSORS}
    assert all(paper.text in " ".join([*texts(at.caption), *table["Source"]]) for paper in papers)
    listed = [cell.partition("]")[0].removeprefix("[") for cell in table["Scheme"]]
    assert sorted(listed) == sorted(row.label for key, row in SCHEMES.items() if key not in ("none", "custom"))
    assert listed.index("Batch") < listed.index("Group") < listed.index("Layer (spatial)")
    assert "[Layer](/?scheme=layer)" in list(table["Scheme"])
    assert list(table["What it does"])[listed.index("Batch")] == SCHEMES["batch"].about
