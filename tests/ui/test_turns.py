"""Large pictures are made one after the other, small ones whenever they are asked for."""

from threading import Event, Thread

import pytest

from normviz.ui.large_pictures import LARGE_PICTURE_ELEMENTS, wait_for_turn


@pytest.mark.parametrize(("elements", "waits"), [(LARGE_PICTURE_ELEMENTS + 1, True), (LARGE_PICTURE_ELEMENTS, False)])
def test_only_a_large_picture_waits_for_a_large_one(elements, waits):
    inside = Event()

    def make():
        with wait_for_turn(elements):
            inside.set()

    other = Thread(target=make)
    with wait_for_turn(LARGE_PICTURE_ELEMENTS + 1):
        other.start()
        assert inside.wait(0.3 if waits else 30) is not waits
    assert inside.wait(30)
    other.join()


def test_what_fails_gives_its_turn_back():
    with pytest.raises(ValueError, match="failed"), wait_for_turn(LARGE_PICTURE_ELEMENTS + 1):
        raise ValueError("failed")
    with wait_for_turn(LARGE_PICTURE_ELEMENTS + 1):
        pass
