"""An extension of griffe: examples in docstrings (`>>>`) are code, also outside of a section."""

import re
from typing import Any

import griffe

EXAMPLE = re.compile(r"^( *)>>> .*(?:\n\1(?=\S).*)*", re.MULTILINE)
"""An example and its output: all lines until the next empty one."""


def fence_examples(text: str) -> str:
    """Return a docstring with its examples in fences.

    >>> print(fence_examples("It adds:\\n\\n>>> 1 + 1\\n2\\n\\nAnd more."))
    It adds:
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    <BLANKLINE>
    And more.
    """
    return EXAMPLE.sub(lambda match: f"{match[1]}```pycon\n{match[0]}\n{match[1]}```", text)


class FencedExamples(griffe.Extension):
    """Fences around the examples of every docstring."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Fence the examples of an object's docstring."""
        if obj.docstring:
            obj.docstring.value = fence_examples(obj.docstring.value)
