"""Requests of a whole class that arrive together: few looks into the database, and none that is too old."""

import asyncio

import pytest

from normviz.classroom.rooms import class_watch
from normviz.classroom.rooms.answer_writer import MAX_BATCH, AnswerWriter
from normviz.classroom.rooms.class_watch import ClassWatch, StateReader
from normviz.classroom.rooms.records import Answer, ClassState, Pace, RefusedRequest


def state(version: int) -> ClassState:
    return ClassState("BCDF2345", version, 0, None, True, False, Pace())


def test_a_class_that_asks_at_once_costs_two_looks_and_sees_what_was_written_before():
    looks, version = [], [1]

    async def read(code):
        seen = version[0]
        looks.append(code)
        await asyncio.sleep(0.01)
        return state(seen)

    async def run():
        reader = StateReader("BCDF2345", read)
        first = [asyncio.create_task(reader.read()) for _ in range(2)]
        await asyncio.sleep(0)
        version[0] = 2
        late = [asyncio.create_task(reader.read()) for _ in range(300)]
        return [(await each).version for each in (*first, *late)]

    assert asyncio.run(run())[2:] == [2] * 300
    assert len(looks) == 2


def test_an_error_of_one_look_is_not_kept():
    looks = []

    async def read(code):
        looks.append(code)
        if len(looks) == 1:
            raise OSError("gone")
        return state(1)

    async def run():
        reader = StateReader("BCDF2345", read)
        found = await asyncio.gather(reader.read(), reader.read(), return_exceptions=True)
        return [type(each) for each in found]

    assert asyncio.run(run()) == [OSError, ClassState]


def test_more_requests_than_may_wait_are_answered_at_once(monkeypatch):
    monkeypatch.setattr(class_watch, "MAX_WAITING", 2)
    monkeypatch.setattr(class_watch, "WAIT_SECONDS", 5.0)

    async def read_state(code):
        return state(1)

    async def read_versions(codes):
        return dict.fromkeys(codes, 1)

    async def run():
        watch = ClassWatch(read_state, read_versions)
        waiting = [asyncio.create_task(watch.wait_for_change("BCDF2345", 1)) for _ in range(2)]
        await asyncio.sleep(0.05)
        third = await asyncio.wait_for(watch.wait_for_change("BCDF2345", 1), 1.0)
        assert not any(each.done() for each in waiting)
        watch.announce_change("BCDF2345")
        return [third, *await asyncio.gather(*waiting)]

    assert asyncio.run(run()) == [state(1)] * 3


def test_answers_that_arrive_together_are_recorded_together_and_each_hears_its_own_outcome():
    batches = []

    async def record(answers):
        batches.append([answer.device for answer in answers])
        await asyncio.sleep(0.01)
        if "bad" in batches[-1]:
            raise OSError("gone")
        return [RefusedRequest(409, "question-closed") if each.device == "late" else each.choice for each in answers]

    async def run():
        writer = AnswerWriter(record)

        def send(*devices):
            return [asyncio.create_task(writer.record_answer(Answer("BCDF2345", each, 1))) for each in devices]

        first = send("a")
        await asyncio.sleep(0.001)
        together = send("b", "late", "c")
        await asyncio.sleep(0.001)
        together[0].cancel()
        found = await asyncio.gather(*first, *together, return_exceptions=True)
        failed = await asyncio.gather(*send("bad"), return_exceptions=True)
        many = await asyncio.gather(*send(*map(str, range(MAX_BATCH + 1))))
        return [*map(type, (*found, *failed)), sum(many)]

    assert asyncio.run(run()) == [int, asyncio.CancelledError, RefusedRequest, int, OSError, MAX_BATCH + 1]
    assert [len(batch) for batch in batches] == [1, 3, 1, MAX_BATCH, 1]


def test_a_class_that_nobody_asks_about_is_forgotten():
    async def read_state(code):
        return state(1)

    async def run():
        watch = ClassWatch(read_state, read_state)
        for k in range(1000):
            await watch.read_state(str(k))
        return len(watch._readers), len(watch._waiting)

    assert asyncio.run(run()) == (0, 0)


def test_an_unknown_code_is_refused_to_everyone_who_asks():
    async def read(code):
        raise RefusedRequest(404, "unknown-code")

    async def run():
        watch = ClassWatch(read, read)
        return await asyncio.gather(*(watch.wait_for_change("BCDF2345", 1) for _ in range(3)), return_exceptions=True)

    with pytest.raises(RefusedRequest):
        raise asyncio.run(run())[2]
