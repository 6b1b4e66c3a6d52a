"""The player, on a page that shows nothing but a number, run by Streamlit without a browser, and its clock alone.

That it plays in place is for a browser to see: tests/browser/test_playing.py.
"""

from threading import Event, Thread, Timer, current_thread

import pytest
from lab_page import sound, texts
from streamlit.testing.v1 import AppTest

from normviz.ui import player as module
from normviz.ui.player import TICK_SECONDS, Player, stop_playing

LAST = 10


def script():
    """A page on which a player shows its position twice over."""
    import streamlit as st

    from normviz.ui.player import Player

    st.session_state.setdefault("demo at", 4)
    Player("demo ", "at", "Place", 10).show(lambda position: st.markdown(f"twice: {2 * position}"))


@pytest.fixture
def at():
    return sound(AppTest.from_function(script).run())


def press(at, name):
    return sound(next(button for button in at.button if button.label == name).click().run())


def shown(at):
    """Where it is: in the session, on the slider, in the picture and in the text on the slider."""
    (slider,), ((word, _, number),) = at.slider, (text.partition(": ") for text in texts(at.markdown))
    assert word == "twice"
    assert slider.proto.format == "Place: %d"
    assert at.session_state["demo at"] == slider.value == int(number) / 2
    return slider.value


def plays(at):
    """Whether it says so: the first button, and a slider that nobody can drag."""
    (slider,) = at.slider
    assert slider.disabled == (at.button[0].label == "Pause")
    return slider.disabled


# --- buttons and slider ---------------------------------------------------------------------------------------------


def test_it_opens_where_the_session_says_and_stands_still(at):
    assert (shown(at), plays(at)) == (4, False)
    assert [button.label for button in at.button] == ["Play", "Back", "Step", "Rewind"]


@pytest.mark.parametrize(
    ("start", "name", "end"),
    [(4, "Step", 5), (4, "Back", 3), (4, "Rewind", 0), (0, "Back", 0), (LAST, "Step", LAST), (LAST, "Back", LAST - 1)],
)
@pytest.mark.parametrize("playing", [False, True])
def test_a_button_moves_within_the_ends_and_stops_what_plays(at, start, name, end, playing):
    at.session_state["demo at"] = start
    at.session_state["demo playing"] = "at" if playing else None
    at = press(sound(at.run()), name)
    assert (shown(at), plays(at)) == (end, False)


def test_play_and_pause_keep_the_place(at):
    for playing in (True, False, True):
        at = press(at, "Play" if playing else "Pause")
        assert (shown(at), plays(at)) == (4, playing)


def test_play_at_the_end_starts_anew(at):
    at.session_state["demo at"] = LAST
    at = press(sound(at.run()), "Play")
    assert (shown(at), plays(at)) == (0, True)


def test_the_slider_is_dragged(at):
    for place in (7, 0, LAST, 3):
        at = sound(at.slider[0].set_value(place).run())
        assert shown(at) == place
    assert shown(press(at, "Step")) == 4
    assert shown(sound(at.slider[0].set_value(8).run())) == 8


@pytest.mark.parametrize("moved", ["Step", "session"])
def test_a_place_from_before_the_last_move_does_not_count_as_dragged_there(at, moved):
    at = sound(at.slider[0].set_value(5).run())
    before = at._tree
    if moved == "Step":
        at = press(at, "Step")
    else:  # a link, another control, or a tick
        at.session_state["demo at"] = 6
        at = sound(at.run())
    at._tree = before  # a browser that has not heard of it yet says where everything was
    at.slider[0].set_value(5)
    assert shown(press(at, "Step")) == 7


@pytest.mark.parametrize("place", [0, 4])
def test_what_has_played_is_dragged_from_where_it_stopped(at, place):
    at.session_state["demo at"] = 0
    at = press(sound(at.run()), "Play")
    at.session_state["demo at"] = 6  # after some ticks
    at = sound(at.run())
    assert (shown(at), plays(at)) == (6, True)
    at = press(at, "Pause") if place else press(at, "Rewind")
    assert shown(at) == (6 if place else 0)
    assert shown(sound(at.slider[0].set_value(place).run())) == place


def test_of_two_players_on_a_page_one_plays(monkeypatch):
    held = {f"demo {name}": value for name, value in (("at", 3), ("to", 3), ("playing", None))}
    monkeypatch.setattr(module.st, "session_state", held)
    first, second = (Player("demo ", name, name, LAST) for name in ("at", "to"))
    first.play()
    assert (first.is_playing, second.is_playing) == (True, False)
    second.play()
    assert (first.is_playing, second.is_playing) == (False, True)
    stop_playing("other ")
    assert second.is_playing
    stop_playing("demo ")
    assert not second.is_playing


# --- the clock ------------------------------------------------------------------------------------------------------


@pytest.fixture
def held(monkeypatch):
    """The session of a page that plays, shown at second 100."""
    held = {"demo at": 5, "demo playing": "at", "demo at ticked": 100.0}
    monkeypatch.setattr(module.st, "session_state", held)
    return held


def test_a_tick_moves_on_by_the_speed_and_the_last_one_ends_it(held):
    player = Player("demo ", "at", "Place", LAST, speed=2)
    found = []
    for number in range(1, 5):
        player.tick(100 + number * TICK_SECONDS)
        found.append((player.position, player.is_playing))
    assert found == [(7, True), (9, True), (LAST, False), (LAST, False)]


def test_a_run_of_the_page_between_two_ticks_is_none(held):
    player = Player("demo ", "at", "Place", LAST)
    player.tick(100 + TICK_SECONDS / 3)
    assert player.position == 5


def test_a_tick_that_comes_late_does_not_run_ahead(held):
    player = Player("demo ", "at", "Place", LAST, speed=2)
    places = []
    for now in (
        100 + 3.4 * TICK_SECONDS,
        100 + 3.5 * TICK_SECONDS,
        100 + 4 * TICK_SECONDS,
        100 + 5 * TICK_SECONDS,
    ):  # two have waited
        player.tick(now)
        places.append(player.position)
    assert places == [7, 7, 9, LAST]


def test_what_stands_still_does_not_tick(held):
    held["demo playing"] = None
    player = Player("demo ", "at", "Place", LAST)
    player.tick(200)
    assert (player.position, player.is_playing) == (5, False)


@pytest.mark.parametrize("playing", [None, "at"])
def test_a_tick_that_comes_behind_pause_runs_the_whole_page(at, monkeypatch, playing):
    alone, whole = iter([True]), []
    monkeypatch.setattr(module, "_is_fragment_run", lambda: next(alone, False))  # as if only the ticking part were run
    monkeypatch.setattr(module.st, "rerun", lambda: whole.append(playing))
    at.session_state["demo playing"] = playing
    sound(at.run())
    assert whole == [None] * (playing is None)


def test_a_press_waits_for_a_tick_that_is_at_work(held, monkeypatch):
    player, begun, go_on, go = Player("demo ", "at", "Place", LAST), Event(), Event(), Player._store_position

    def slowly(self, position):
        if current_thread() is ticking:
            begun.set()
            assert go_on.wait(60)
        go(self, position)

    ticking = Thread(target=player.tick, args=(200,))
    monkeypatch.setattr(Player, "_store_position", slowly)
    ticking.start()
    assert begun.wait(60)
    Timer(0.1, go_on.set).start()
    player.move()  # Pause, from another thread, as a run of the page that takes the place of the tick's
    shown = player.position
    ticking.join(60)
    assert (player.position, player.is_playing) == (shown, False)
