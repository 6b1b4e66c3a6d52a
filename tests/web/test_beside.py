"""The element beside the cube, in words and numbers by JavaScript, against Python."""

import re

from elements import make_cases
from node import evaluate

WRITE = """({readForm, writeField, writeNumber}, data, indices) => indices.map((index) => {
  const write = (_, name, bracketed) => writeNumber(data, name, bracketed !== undefined, index);
  const fill = (sides) => sides.join("").replace(/<mn data-number="(\\w+)"( data-bracketed)?><\\/mn>/g, write);
  const form = readForm(data, index);
  return {
    fields: data.fields.map((field) => writeField(field, field.words, index, data.shape)),
    formulas: [...data.statistics, ...data.lines].map(({ forms }) => fill(forms[forms.length > 1 ? form : 0])),
  };
})"""


def test_of_every_element_javascript_says_what_python_says():
    for case in make_cases(40):
        found = evaluate("wording", WRITE, case.data, case.indices)
        assert [each["fields"] for each in found] == case.fields
        texts = [["".join(re.sub("<[^>]*>", "", text).split()) for text in each["formulas"]] for each in found]
        assert texts == case.formulas
