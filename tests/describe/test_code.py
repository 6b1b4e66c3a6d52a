"""The generator of code: facts become code, a fact that is not given raises, and text is never taken for a template."""

from pathlib import Path

import numpy as np
import pytest
from jinja2 import UndefinedError

import normviz
from normviz.core.fields import Field
from normviz.core.normalize import LayerScalars
from normviz.core.registry import SCHEMES
from normviz.describe.code import format_as_code, list_averaging_steps, render_template
from normviz.describe.snippets import FRAMEWORKS, format_snippet

PACKAGE = Path(normviz.__file__).parent
TEMPLATES = sorted(path.name for path in (PACKAGE / "describe" / "templates").glob("*.jinja"))


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("v - mean", "v - mean"),
        (3, "3"),
        (np.int64(3), "3"),
        (3.0, "3.0"),
        (1e-5, "1e-05"),
        (np.float64(0.1), "0.1"),
        ((1, 2), "(1, 2)"),
        ((np.int64(2),), "(2,)"),
    ],
)
def test_a_value_as_code(value, code):
    assert format_as_code(value) == code


@pytest.mark.parametrize("value", [None, True, np.True_, [1, 2], {"a": 1}, (1, None), SCHEMES["batch"]])
def test_what_is_no_code_is_refused(value):
    with pytest.raises(TypeError, match="does not belong in code"):
        format_as_code(value)


@pytest.mark.parametrize("template", TEMPLATES)
def test_a_fact_that_is_not_given_raises(template):
    with pytest.raises(UndefinedError, match="is undefined"):
        render_template(template)


def test_a_fact_that_is_only_laid_out_raises_too():
    with pytest.raises(UndefinedError, match="'source' is undefined"):
        render_template("snippet.py.jinja", scheme=SCHEMES["batch"], weights=None)


def test_a_fact_that_is_no_code_raises():
    with pytest.raises(TypeError, match="None is not text"):
        render_template("snippet.py.jinja", scheme=SCHEMES["batch"], source=None, weights=None)


@pytest.mark.parametrize("template", TEMPLATES)
def test_every_template_is_used(template):
    users = (path for path in PACKAGE.rglob("*") if path.suffix in (".py", ".jinja") and path.name != template)
    assert any(f'"{template}"' in path.read_text(encoding="utf-8") for path in users)


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_text_is_never_taken_for_a_template(framework):
    source = 'x = "{{ 7 * 7 }}{% if %}{# #}"'
    assert source in format_snippet(SCHEMES["batch"], framework, (2, 3, 4, 6), LayerScalars(1e-5), source=source)


def test_the_steps_of_an_average():
    field = Field.parse("groups(2), full, own, window(1)")
    groups, window = ("groups", (0,), 2), ("window", (3,), 1)
    assert [(s.kind, s.axes, s.number) for s in list_averaging_steps(field.rules)] == [
        ("full", (1,), None),
        groups,
        window,
    ]
    whole = list_averaging_steps(Field.parse("full, own, full, own").rules, (2, 3, 4, 6))
    assert [(s.kind, s.axis, s.number) for s in whole] == [("full", (0, 2), 8)]
    assert list_averaging_steps(Field.parse("own, own, own, full").rules)[0].axis == 3
    assert list_averaging_steps(Field.parse("own, own, own, own").rules) == ()
