"""The Table 1 page run by Streamlit without a browser, and what it shows of its trainings."""

import time

from lab_page import open_lab, plots, sound

SMALL = {"steps": "5", "batch": "8", "width": "8"}


def open_now(**link):
    """The page of a link, as it is at first, perhaps while it trains."""
    return open_lab("pages/invariance.py", **link)


def open_table(**link):
    """The page of a link, once its training is over."""
    return settled(open_now(**link))


def trains(at):
    """Whether the page says that it trains, and looks again by itself."""
    return any(button.key == "cancel" for button in at.button)


def settled(at):
    """The page once its training is over."""
    deadline = time.monotonic() + 60
    while trains(at):
        assert time.monotonic() < deadline
        at = sound(at.run())
    return at


def cells_of(at):
    """The grid's cells, by key."""
    return {cell["key"]: cell for row in plots(at)["grid table"]["rows"] for cell in row["cells"]}
