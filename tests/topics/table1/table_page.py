"""The Table 1 page run by Streamlit without a browser, and what it shows of its trainings."""

import time

from lab_page import open_lab, plots, sound

from normviz.topics.table1.state import PREFIX
from normviz.topics.table1.training_panels import FORWARD

SMALL = {"steps": "5", "batch": "8", "width": "8"}


def open_now(**link):
    """The page of a link, as it is at first, perhaps while it trains."""
    return open_lab("pages/invariance.py", **link)


def open_table(**link):
    """Return the page of a link, once all that it shows is measured and trained."""
    return settled(open_now(**link))


def trains(at):
    """Whether the page says that it trains, and looks again by itself."""
    quietly = any(each.value == "The networks train while you guess." for each in at.caption)
    return quietly or any(button.key == "cancel" for button in at.button)


def measures(at):
    """Return True if forward passes that the page shows were still at work when it ran."""
    run = at.session_state[FORWARD] if FORWARD in at.session_state else None  # noqa: SIM401 - it has no get
    return run is not None and run.request is not None


def settled(at):
    """Run the page until all that it shows is measured and trained, and return it."""
    deadline = time.monotonic() + 60
    while trains(at) or measures(at):
        assert time.monotonic() < deadline
        at = sound(at.run())
    return at


def cells_of(at):
    """The grid's cells, by key."""
    return {cell["key"]: cell for row in plots(at)["grid table"]["rows"] for cell in row["cells"]}


def set_value(at, name, value):
    """Return the page once the setting of this name has the value."""
    at.session_state[PREFIX + name] = value
    return settled(sound(at.run()))


def words_of(at):
    """The words of all cells of the map, by key; of a covered one None."""
    return {key: cell.get("word") for key, cell in cells_of(at).items()}
