"""What a session asks to have done outside of its page: handed in once, waited for a moment, and let go of."""

import time
from collections.abc import Sequence
from functools import partial
from typing import Any

from normviz.jobs.desk import Desk
from normviz.jobs.tickets import Keep, Ticket
from normviz.ui.presence import here

AT_ONCE = 0.25
"""Seconds that a page waits for what it asks for before it shows what is there."""

POLL = 0.5
"""Seconds between two looks at it."""


def handed_in(held: Ticket | None, jobs: Sequence[Any], where: Desk, keep: Keep, page: str) -> Ticket | None:
    """The ticket of a page for these jobs: that which is held where they are among its own, otherwise a new one.

    The old one is dropped last: a job of both goes on.
    """
    if held is not None and {*jobs} <= {job for _, job in held.jobs} and (held.error or (jobs and not held.over)):
        held.renew()
        return held
    ticket = where.submit(jobs, keep, partial(here().on, page)) if jobs else None
    if held is not None:
        held.cancel()
    return ticket


def under_way(*tickets: Ticket | None) -> bool:
    """Whether anything is still at work after a moment."""
    end = time.monotonic() + AT_ONCE
    over = [ticket is None or ticket.wait(max(end - time.monotonic(), 0.0)) for ticket in tickets]
    return not all(over)
