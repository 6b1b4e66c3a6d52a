"""What a ticket tells and can be asked for: its place in the queue, the time that is left, a pause; many at once."""

from concurrent.futures import Executor

import pytest
from pretend import Kept
from work import Count, Fails

from normviz.jobs.job_queue import JobQueue


def test_a_ticket_tells_how_many_jobs_of_others_stand_before_its_last(slow, later):
    tickets = [slow.submit([Count(n), Count(10 + n)], Kept()) for n in (1, 2, 3)]
    assert [ticket.jobs_ahead for ticket in tickets] == [2, 3, 4]
    assert [ticket.is_waiting for ticket in tickets] == [True, True, True]
    later.work()  # that of the first, whose next job goes to the end of the queue
    assert [ticket.jobs_ahead for ticket in tickets] == [2, 2, 3]
    later.take()
    assert [ticket.is_waiting for ticket in tickets] == [True, False, True]
    assert [ticket.jobs_ahead for ticket in tickets] == [2, 2, 3]


def test_those_who_have_gone_do_not_stand_before_anybody(slow):
    first, second = (slow.submit([Count(n)], Kept()) for n in (1, 2))
    assert second.jobs_ahead == 1
    first.cancel()
    assert second.jobs_ahead == 0


def test_who_joins_a_job_has_its_place(slow, later):
    slow.submit([Count(1)], Kept())
    slow.submit([Count(2)], Kept())
    assert slow.submit([Count(1)], Kept()).jobs_ahead == 0
    assert slow.submit([Count(2)], Kept()).jobs_ahead == 1


def test_who_asks_again_for_a_job_that_was_told_to_stop_has_a_place_at_the_end(slow):
    old = slow.submit([Count(1)], Kept())
    slow.submit([Count(2)], Kept())
    old.cancel()
    assert slow.submit([Count(1)], Kept()).jobs_ahead == 1


def test_tickets_with_many_jobs_and_with_few_take_turns(slow, later):
    slow.submit([Count(n) for n in (10, 11, 12, 13)], Kept())
    slow.submit([Count(20)], Kept())
    slow.submit([Count(n) for n in (30, 31)], Kept())
    while later.waiting:
        later.work()
    assert [job.n for job in later.jobs] == [10, 20, 30, 11, 31, 12, 13]


def test_the_desk_knows_what_somebody_has_at_work(slow, later, clock):
    assert not slow.is_in_progress([Count(1)])
    ticket = slow.submit([Count(1), Count(2)], Kept())
    assert slow.is_in_progress([Count(1)])
    assert slow.is_in_progress([Count(2), Count(1)])
    assert not slow.is_in_progress([Count(1), Count(3)])  # of which nobody has asked for one
    assert not slow.is_in_progress([Count(2)])
    later.work()
    assert not slow.is_in_progress([Count(1)])
    assert slow.is_in_progress([Count(2)])
    clock.now = ticket.lease + 1
    assert not slow.is_in_progress([Count(2)])  # nobody wants it, and it ends


def test_what_others_have_done_meanwhile_is_not_done_again(later):
    kept = Kept()
    desk = JobQueue(later, is_done=lambda job: job in dict(kept))
    tickets = [desk.submit(jobs, kept) for jobs in ([Count(1), Count(2), Count(3)], [Count(2), Count(1)])]
    while later.waiting:
        later.work()
    assert [job.n for job in later.jobs] == [1, 2, 3]
    assert [ticket.is_over for ticket in tickets] == [True, True]
    assert [ticket.progress for ticket in tickets] == [1, 1]


def test_where_one_job_cannot_be_handed_in_no_other_is_tried():
    class Dead(Executor):
        asked = 0

        def submit(self, function, /, *arguments):
            self.asked += 1
            raise RuntimeError("has gone")

    dead = Dead()
    ticket = JobQueue(dead, jobs_per_request=8).submit([Count(n) for n in range(8)], Kept())
    assert ticket.is_over
    assert str(ticket.error) == "has gone"
    assert dead.asked == 1


def test_a_run_that_is_over_holds_nobody(slow, later):
    ticket = slow.submit([Count(1)], Kept())
    run = ticket.first_run
    later.work()
    assert run.requests == []
    assert not run.begun()


def test_a_pause_lets_the_job_at_work_end_and_starts_no_other(slow, later):
    ticket = slow.submit([Count(1), Count(2), Count(3)], kept := Kept())
    ticket.pause()
    later.work()
    assert (later.waiting, ticket.done_count, ticket.is_over, ticket.is_waiting) == ([], 1, False, False)
    ticket.resume()
    later.work()
    later.work()
    assert ticket.is_over
    assert list(dict(kept)) == [Count(1), Count(2), Count(3)]


def test_a_pause_that_ends_before_the_job_does_changes_nothing(slow, later):
    ticket = slow.submit([Count(1), Count(2)], Kept())
    ticket.pause()
    ticket.resume()
    assert later.jobs == [Count(1)]
    later.work()
    later.work()
    assert ticket.is_over
    assert later.jobs == [Count(1), Count(2)]


@pytest.mark.parametrize("gone", ["cancelled", "lapsed"])
def test_who_does_not_come_back_from_a_pause_starts_nothing(slow, later, clock, gone):
    ticket = slow.submit([Count(1), Count(2)], Kept())
    ticket.pause()
    later.work()
    if gone == "cancelled":
        ticket.cancel()
    clock.now += 11 * (gone == "lapsed")
    ticket.resume()
    assert ticket.is_over
    assert later.jobs == [Count(1)]


def test_a_ticket_that_lapses_between_two_jobs_is_over_for_good(slow, later, clock):
    ticket = slow.submit([Count(1), Count(2)], Kept())
    clock.now = 11.0
    future, *_ = later.waiting.pop(0)
    future.set_result(None)
    ticket.renew()
    assert ticket.is_over
    assert not ticket.is_wanted
    assert later.jobs == [Count(1)]


@pytest.fixture
def wide(later, clock):
    """A desk that lets three jobs of a ticket be at work."""
    return JobQueue(later, clock=clock, jobs_per_request=3)


def test_many_jobs_of_a_ticket_may_be_at_work_at_once(wide, later):
    ticket = wide.submit([Count(n) for n in range(1, 6)], kept := Kept())
    assert [job.n for job in later.jobs] == [1, 2, 3]
    later.waiting.insert(0, later.waiting.pop(2))  # the third ends first
    later.work()
    assert [job.n for job in later.jobs] == [1, 2, 3, 4]
    assert ticket.progress == pytest.approx(1 / 5)
    while later.waiting:
        later.work()
    assert ticket.is_over
    assert ticket.progress == 1.0
    assert [job.n for job in dict(kept)] == [3, 1, 2, 4, 5]


def test_an_error_ends_the_ticket_once_its_other_jobs_have_ended(wide, later):
    ticket = wide.submit([Fails("full"), Count(5), Fails("also full"), Count(1)], kept := Kept())
    later.work()
    assert str(ticket.error) == "full"
    assert not ticket.is_over
    later.work()  # stops before its first step
    later.work()
    assert ticket.is_over
    assert kept == [(Fails("full"), None)]
    assert str(ticket.error) == "full"
    assert Count(1) not in later.jobs


def test_the_same_job_twice_in_a_ticket_is_done_once(wide, later):
    ticket = wide.submit([Count(2), Count(2)], kept := Kept())
    later.work()
    assert ticket.is_over
    assert (ticket.done_count, len(later.jobs), len(kept)) == (2, 1, 2)
