"""The losses that the grid plays: which numbers are sent, and that they end at those of the table."""

import numpy as np
import pytest

from normviz.core.schemes import SCHEMES
from normviz.core.transformations import PAPER, TRANSFORMATIONS
from normviz.networks.problem import NETWORKS, ORIGINAL, position
from normviz.networks.setting import Setting
from normviz.table1.grid import LEGEND, WORDS, grid_data, key_of, role_of, trained_gap
from normviz.table1.playback import POINTS, Curve, playback
from normviz.table1.results import Results
from normviz.table1.table import table
from normviz.ui.packed import packed

SETTING = Setting(steps=12, batch=8, width=8)


@pytest.fixture(scope="module")
def trained():
    results = Results()
    schemes = [SCHEMES[key] for key in PAPER]
    results.fill(schemes, SETTING)
    return schemes, results


def sent(trained, covered=(), follow=True):
    schemes, results = trained
    cells = table(schemes, SETTING, results, follow)
    losses = [results.losses(scheme, SETTING) for scheme in schemes]
    return cells, losses, grid_data(cells, schemes, SETTING, key_of(cells[0]), covered, "light", losses, follow)


@pytest.mark.parametrize("follow", [True, False])
def test_every_cell_is_played_up_to_its_number(trained, follow):
    cells, losses, data = sent(trained, follow=follow)
    played = data["played"]
    assert played["cells"] == [key_of(cell) for cell in cells]
    assert played["at"].tolist() == list(range(1, 13))
    for k, cell in enumerate(cells):
        assert played["gaps"][k, -1] == pytest.approx(trained_gap(cell), rel=1e-6)
        assert (np.diff(played["gaps"][k]) >= 0).all()
        change, row = TRANSFORMATIONS[cell.transformation], played["rows"][k]
        expected = losses[row][:, position(change, follow)]
        np.testing.assert_allclose(played["twins"][k], expected, rtol=1e-6)
        np.testing.assert_allclose(played["bases"][row], losses[row][:, ORIGINAL], rtol=1e-6)
        kept = not follow and change.weight_factor is not None
        assert played["roles"][k] == ("matched" if kept else "transformed")


def test_of_a_covered_cell_nothing_is_sent(trained):
    covered = "layer.case-rescaling"
    cells, _, data = sent(trained, [covered])
    played = data["played"]
    assert covered not in played["cells"]
    assert len(played["twins"]) == len(played["gaps"]) == len(played["roles"]) == len(cells) - 1
    assert played["gaps"][-1, -1] == pytest.approx(trained_gap(cells[-2]), rel=1e-6)


def test_a_long_training_sends_no_more_than_a_cell_can_show():
    losses = [np.linspace(2, 1, 2000)[:, None] + 1e-3 * np.arange(len(NETWORKS)) for _ in range(14)]
    curves = {f"{row} {change}": Curve(row, 1, "transformed") for row in range(14) for change in range(6)}
    played = playback(losses, 2000, curves)
    assert (played["at"][0], played["at"][-1], len(played["at"])) == (1, 2000, POINTS)
    assert played["gaps"].dtype == played["twins"].dtype == played["bases"].dtype == np.float32
    assert len(packed(played)) < 84_000  # bytes, for 14 rows


def test_a_row_that_is_behind_ends_where_it_is_and_one_that_is_not_finite_has_no_curve():
    ahead, behind = np.ones((7, len(NETWORKS))), np.ones((3, len(NETWORKS)))
    ahead[4:, 1] = np.inf
    played = playback([ahead, behind], 10, {"a": Curve(0, 1, "transformed"), "b": Curve(1, 1, "transformed")})
    assert played["at"].tolist() == [1, 2, 3, 4, 5, 6, 7]
    assert played["gaps"][0].tolist() == [0, 0, 0, 0, np.inf, np.inf, np.inf]
    assert np.isnan(played["bases"][1]).tolist() == [False] * 3 + [True] * 4
    assert np.isnan(played["gaps"][1, 3:]).all()


def test_before_the_first_step_there_is_nothing_to_play():
    played = playback([np.empty((0, len(NETWORKS)))], 10, {"a": Curve(0, 1, "transformed")})
    assert played["at"].tolist() == []
    packed(played)


def test_every_mark_curve_and_frame_of_the_grid_is_explained():
    explained = {(kind, value) for row in LEGEND for kind, value in row.items() if kind != "text"}
    assert {("mark", answer) for answer in WORDS} <= explained
    roles = {role_of(change, follow) for change in TRANSFORMATIONS.values() for follow in (True, False)}
    assert {("line", role) for role in {"original", *roles}} <= explained
    assert {("frame", name) for name in ("paper", "alert")} <= explained
