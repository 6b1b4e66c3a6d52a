"""What mistakes cost, as the training and inference page shows it: trained once for all, in the background."""

import re
import time
from threading import Event

import numpy as np
import pytest
from checked import checked
from lab_page import open_lab, plots, sound, texts

from normviz.charts.palette import THEMES
from normviz.describe.seeds import estimate_mean, format_mean_percent
from normviz.jobs.bounded_store import BoundedStore
from normviz.jobs.executors import create_thread_pool
from normviz.jobs.job_queue import JobQueue
from normviz.jobs.spec import run_to_end
from normviz.topics.running import cases
from normviz.topics.running.averages import CONVENTIONS
from normviz.topics.running.figures import ModeRow, draw_accuracies
from normviz.topics.running.network import NETWORK_COUNT, NetworkTraining
from normviz.topics.running.panels import accuracy

SCRIPT = "pages/running.py"
SOON = 60  # seconds that a test waits at most


def open_now(**link):
    return open_lab(SCRIPT, **{"panel": "wrong"} | link)


def trains(at):
    return any(button.key == "cancel networks" for button in at.button)


def settled(at):
    deadline = time.monotonic() + SOON
    while trains(at):
        assert time.monotonic() < deadline
        at = sound(at.run())
    return at


def heading(at):
    return next(text for text in texts(at.markdown) if text.startswith("### "))


@pytest.fixture
def held(monkeypatch):
    """Trainings that wait after their third step."""

    class Held:
        waits, go_on, jobs = Event(), Event(), []

    real = NetworkTraining.steps

    def steps(self):
        Held.jobs.append(self)
        for count, step in enumerate(real(self)):
            yield step
            if count == 3:
                Held.waits.set()
                assert Held.go_on.wait(SOON)

    monkeypatch.setattr(NetworkTraining, "steps", steps)
    yield Held
    Held.go_on.set()


@pytest.mark.parametrize("framework", CONVENTIONS)
def test_the_page_opens_on_what_mistakes_cost(framework):
    at = settled(open_now(seed="20", batch="8", share="0.03", framework=framework))
    job, convention = NetworkTraining(8, 1e-5, 20), CONVENTIONS[framework]
    found = run_to_end(job)
    cost = cases.measure_case_accuracies(found, job, convention, 0.03)
    alt = plots(at)["effect"]["alt"]
    names = [words[0] for words in accuracy.describe_cases(at.session_state["running view"], convention).values()]
    for name, values in zip(names, cost.values(), strict=True):
        assert f"{name}: {format_mean_percent(values)}" in alt
    worst = min(cost.values(), key=np.mean)
    assert heading(at).startswith(f"### Accuracy {cost['population'].mean():.0%} → {worst.mean():.0%}: ")
    mistakes = sorted(values.mean() for key, values in cost.items() if key not in cases.CORRECT_CASES)
    (following,) = (text for text in texts(at.markdown) if text.startswith("Other mistakes: "))
    assert re.findall(r", (\d+%)", following) == [f"{share:.0%}" for share in mistakes[1:3]]
    said = " ".join(texts(at.markdown))
    fresh = f"**Averages never updated** ({cost['population'].mean():.0%} → {cost['fresh'].mean():.0%})"
    assert fresh in said
    assert convention.training in said
    refused = f"**{convention.training} left on, one digit at a time** (`ValueError`)"
    assert (refused in said) == ("one" not in cost) == convention.unbiased
    assert any(f"{NETWORK_COUNT} networks of 64 → 32" in text for text in texts(at.caption))


def test_who_waits_for_others_is_told_how_long(held, monkeypatch):
    with create_thread_pool(1) as pool:
        queue = JobQueue(pool, workers=1)
        monkeypatch.setattr(accuracy, "get_training_queue", lambda: queue)
        open_now(seed="31")
        assert held.waits.wait(SOON)
        other = open_now(seed="32")
        (bar,) = other.get("progress")
        assert re.fullmatch(
            r"Waiting: done in about \d+ seconds? \(\d+ jobs? (is|are) ahead of yours\)", bar.proto.text
        )
        held.go_on.set()


def test_two_sessions_share_one_training(held):
    pages = [open_now(seed="21") for _ in range(2)]
    assert held.waits.wait(SOON)
    asked = [at.session_state[accuracy.REQUEST_KEY] for at in pages]
    assert asked[0].request.runs[0] is asked[1].request.runs[0]
    assert all("…%" in heading(at) for at in pages)
    held.go_on.set()
    pages = [settled(at) for at in pages]
    assert heading(pages[0]) == heading(pages[1])
    assert "…%" not in heading(pages[0])
    assert len(held.jobs) == 1
    settled(open_now(seed="21", share="0.3"))  # what is not trained on needs no training
    assert len(held.jobs) == 1


def test_it_can_be_stopped_and_taken_up_again(held):
    at = open_now(seed="22")
    assert held.waits.wait(SOON)
    request = at.session_state[accuracy.REQUEST_KEY].request
    at = sound(at.button(key="cancel networks").click().run())
    held.go_on.set()
    assert request.wait(SOON)
    at = sound(at.run())
    assert not trains(at)
    assert any("Training was stopped" in text for text in texts(at.markdown))
    assert "…%" in heading(at)
    at = settled(sound(at.button(key="train networks").click().run()))
    assert "…%" not in heading(at)


def test_what_goes_wrong_in_training_is_said(monkeypatch):
    def steps(self):
        raise MemoryError("there is no room")
        yield

    monkeypatch.setattr(NetworkTraining, "steps", steps)
    at = settled(open_now(seed="23"))
    assert any("there is no room" in text for text in texts(at.markdown))
    assert at.button(key="train networks")


def test_other_panels_train_nothing():
    at = open_now(panel="companions")
    assert accuracy.REQUEST_KEY not in at.session_state


@pytest.mark.heavy
def test_it_is_as_high_before_there_are_numbers(held):
    at = open_now(seed="24")
    before, lines = plots(at), len(at.markdown)
    held.go_on.set()
    at = settled(at)
    after = plots(at)
    assert before.keys() == after.keys()
    assert before["effect"]["height"] == after["effect"]["height"]
    assert len(at.markdown) == lines
    assert "Training" in before["effect"]["alt"]


@pytest.mark.heavy
def test_pytorch_refuses_a_batch_of_one_and_keras_does_not():
    at = open_now(batch="1", layer="conv")
    assert any("PyTorch refuses to train this network" in text for text in texts(at.error))
    at = settled(open_now(batch="1", framework="keras"))
    assert heading(at).startswith("### ")


@pytest.mark.parametrize("size", [1, 2])
def test_only_pytorch_refuses_one_digit_in_training_mode(size):
    torch, digits = pytest.importorskip("torch"), np.ones((size, 3), np.float32)
    layer, refused = torch.nn.BatchNorm1d(3), False
    try:
        layer(torch.from_numpy(digits))
    except ValueError:
        refused = True
    assert refused == (size == 1)
    assert [key for key, row in CONVENTIONS.items() if row.unbiased] == ["pytorch"]


def test_what_is_kept_is_bounded(monkeypatch):
    store = BoundedStore(2)
    monkeypatch.setattr(accuracy, "get_network_store", lambda: store)
    early = next(NetworkTraining(4, 1e-5, 0).steps()).result()
    accuracy.store_networks(NetworkTraining(4, 1e-5, 0), early)
    assert len(store) == 0  # what was stopped is not kept as if it were whole
    whole = run_to_end(NetworkTraining(4, 1e-5, 0))
    for seed in range(3):
        accuracy.store_networks(NetworkTraining(4, 1e-5, seed), whole)
    assert len(store) == 2
    size = sum(array.nbytes for array in (*whole.network.parameters, whole.means, whole.variances))
    assert size < 2.5 * 2**20


@pytest.mark.parametrize("theme", THEMES)
def test_the_chart_has_every_network_and_their_mean(theme):
    values = np.linspace(0.5, 0.7, NETWORK_COUNT)
    rows = [ModeRow("a", "ink", values), ModeRow("b", "training", values / 2), ModeRow("c", "inference", None)]
    figure = checked(draw_accuracies(rows, 0.1, theme))
    assert [trace.name for trace in figure.data] == ["a", "a, mean", "b", "b, mean"]
    np.testing.assert_allclose(figure.data[0].x, 100 * values)
    np.testing.assert_allclose(figure.data[3].x, [30])
    np.testing.assert_allclose(figure.data[1].error_x.array, [100 * estimate_mean(values)[1]])
    assert figure.layout.xaxis.range[0] == -1
    assert checked(draw_accuracies(rows[:1], 0.1, theme)).layout.xaxis.range[0] == -1  # 50% is the lowest
    near = checked(draw_accuracies([ModeRow("a", "ink", values + 0.2)], 0.1, theme)).layout.xaxis.range[0]
    assert near == 65  # just below 70%
    assert figure.data[2].marker.color == THEMES[theme].training
    written = [text.text for text in figure.layout.annotations]
    assert written == [f"<b>{format_mean_percent(each)}</b>" for each in (values, values / 2)]
    assert figure.layout.yaxis.ticktext == ("a", "b", "c")


def test_the_network_is_the_one_that_is_described():
    assert next(NetworkTraining(1, 1e-5, 0).steps()).result().network.weights[0].shape == (NETWORK_COUNT, 64, 32)


@pytest.mark.parametrize("batch", [1, 2])
def test_only_batches_with_others_have_the_cases_that_need_others(batch):
    words = accuracy.describe_cases({"share": 0.1, "batch": batch}, CONVENTIONS["keras"])
    assert set(accuracy.CASES_NEEDING_OTHERS) <= words.keys() or batch == 1
    assert any("depends on the other digits" in why for *_, why in words.values()) == (batch > 1)
    assert any("drifted away" in why for *_, why in words.values()) == (batch > 1)


@pytest.mark.parametrize("group", accuracy.SHOWN_CASES)
def test_a_group_of_mistakes_shows_its_rows_alone(group):
    view, convention = {"share": 0.1, "batch": 16, "mistakes": group}, CONVENTIONS["pytorch"]
    words = accuracy.describe_cases(view, convention)
    rows = [row.name for row in accuracy.build_case_rows({}, view, convention)]
    assert sorted(rows) == sorted(words[key][0] for key in accuracy.SHOWN_CASES[group])
    assert len(accuracy.build_case_rows({}, view | {"mistakes": "all"}, convention)) == len(words) > len(rows)


@pytest.mark.heavy
def test_the_headline_of_batches_of_one_is_of_a_case_that_they_have():
    at = settled(open_now(batch="1", framework="keras", seed="41"))
    assert "mixed batches of 1" not in " ".join(texts(at.markdown)) + plots(at)["effect"]["alt"]


def test_weights_before_batch_norm_do_not_move_in_batches_of_one():
    early = next(NetworkTraining(1, 1e-5, 0).steps()).result().network.weights[:-1]
    late = run_to_end(NetworkTraining(1, 1e-5, 0)).network.weights[:-1]
    for before, after in zip(early, late, strict=True):
        np.testing.assert_array_equal(before, after)
