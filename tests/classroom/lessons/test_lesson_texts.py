"""The lessons that come with the app: every stated number is true, every step opens."""

import re
from fractions import Fraction

import pytest
from facts import NAMES

from normviz.classroom.lessons.catalogue import LESSONS_FOLDER, SHIPPED_KEYS, read_shipped_lessons
from normviz.classroom.lessons.lesson import MAX_STEPS
from normviz.describe.interface_words import DEFAULT_LANGUAGE, LANGUAGES

STEPS = [
    pytest.param(step, id=f"{key}.{k + 1}")
    for key, lesson in read_shipped_lessons().items()
    for k, step in enumerate(lesson.steps)
]
TRANSLATED = [
    pytest.param(english, other, id=f"{language}.{key}.{k + 1}")
    for language in LANGUAGES
    if language != DEFAULT_LANGUAGE
    for key, lesson in read_shipped_lessons(language).items()
    for k, (english, other) in enumerate(zip(read_shipped_lessons()[key].steps, lesson.steps, strict=True))
]
NUMBER = re.compile(r"(?<![\w.(^−-])[−-]?\d+(?:[./]\d+)*%?(?![\w(])")
"""A number in a text; −1 in "6 − 1" is 1."""

UNDECLARED = {"0", "1", "−1", "2016"}
"""Numbers that say nothing by themselves."""


def list_texts(step):
    """All that a step states; a wrong answer states nothing, but its reason does."""
    right = [each.text for each in step.answers if each.is_right]
    return [step.text, step.question, step.look, *right, *(each.reason for each in step.answers)]


def list_numbers(text):
    return NUMBER.findall(re.sub(r"Tab(?:le|elle) \d|nn\.\w+\([^)]*\)+|shape \([^)]*\)|\((?:\d+, )+…?\d*\)", "", text))


def check_fact(stated, expression):
    value = eval(expression, dict(NAMES))
    if list_numbers(stated) != [stated]:
        assert value in (True,), f"{stated}: {expression} is {value}"
        return
    number = stated.rstrip("%").replace("−", "-")
    digits = len(number.partition(".")[2])
    assert abs(float(value) - float(Fraction(number))) <= 0.5001 * 10.0**-digits * ("/" not in number) + 1e-9, (
        f"{stated}: {expression} is {value}"
    )


def test_there_are_eight_lessons_of_about_ten_minutes():
    lessons = read_shipped_lessons()
    assert len(lessons) == 8
    assert sorted(lessons) == sorted(path.stem for path in LESSONS_FOLDER.glob("*.toml"))
    assert list(lessons) == list(SHIPPED_KEYS)
    assert all(8 <= lesson.minutes <= 12 and 5 <= len(lesson.steps) <= MAX_STEPS for lesson in lessons.values())


@pytest.mark.parametrize("step", STEPS)
def test_what_a_step_states_is_true(step):
    said = " | ".join(list_texts(step))
    for stated, expression in step.facts.items():
        assert stated in " | ".join([said, *(each.text for each in step.answers)]), f"“{stated}” is nowhere in the step"
        check_fact(stated, expression)


@pytest.mark.parametrize("step", STEPS)
def test_no_number_is_stated_without_an_expression(step):
    numbers = {number for text in list_texts(step) for number in list_numbers(text)}
    assert numbers - UNDECLARED - step.facts.keys() == set()


def read_german_numbers(text):
    """A text whose numbers are written as in English: 12 % as 12%, 0,5 as 0.5."""
    return re.sub(r"(?<=\d)[ -]%", "%", re.sub(r"(?<=\d),(?=\d)", ".", text))


@pytest.mark.parametrize(("english", "other"), TRANSLATED)
def test_a_translation_opens_the_same_pages_and_states_the_same_numbers(english, other):
    assert (other.link, other.reveal) == (english.link, english.reveal)
    assert [each.is_right for each in other.answers] == [each.is_right for each in english.answers]

    def list_all(step):
        answers = (text for each in step.answers for text in (each.text, each.reason))
        return [step.text, step.question, step.look, *answers]

    for text, translated in zip(list_all(english), list_all(other), strict=True):
        assert set(list_numbers(read_german_numbers(translated))) == set(list_numbers(text)), translated
        assert translated != text or not text.endswith((".", "?"))


@pytest.mark.parametrize("step", [*STEPS, *(pytest.param(each.values[1], id=each.id) for each in TRANSLATED)])
def test_a_step_asks_and_its_texts_are_sentences(step):
    assert step.question.endswith("?")
    texts = [step.text, step.look, *(each.reason for each in step.answers)]
    assert all(text.endswith((".", "?")) for text in texts)
    sentences = [sentence for text in [*texts, step.question] for sentence in re.split(r"(?<=[.?:])\s", text)]
    assert [sentence for sentence in sentences if len(sentence.split()) > 25] == []
    assert sum(each.is_right for each in step.answers) == 1
