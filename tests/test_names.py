"""Public names have one meaning in the package and say what it is; docstrings begin as CONTRIBUTING.md says."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from fnmatch import fnmatch
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from browsing import ROOT

INTERFACES = {
    "Setting": (
        "topics/experiments/*|topics/running/stream|topics/weights/descent|topics/why/saturation|train/setting",
        "declared values",
    ),
    "Outcome": ("topics/experiments/*", "what an experiment's report reads from its results"),
    "list_jobs": ("topics/experiments/*", "the jobs of a setting, one function per experiment"),
    "report": ("topics/experiments/*", "the report on results, one function per experiment"),
    "Page": ("topics/*/state|classroom/*/state", "the declared values of a page"),
    "is_relevant": ("topics/*/state|classroom/*/state|ui/scheme", "whether a value matters in a view of the page"),
    "translate_former_link": ("topics/*/state", "the link of today for a former one of the page"),
    "draw_controls": ("topics/*/controls|topics/running/state", "the controls of a page"),
    "show": (
        "topics/*/panels|topics/*/panels/*|web/components/component|library/pictures",
        "a page's panel; a component; a picture, for users",
    ),
    "add_options": ("cli/*", "the options of a command"),
    "run": ("cli/*", "what a command does"),
    "normalize": (
        "core/normalize|library/calls",
        "of a tensor; for users also by name, in any layout",
    ),
    "backward": ("core/backward|library/calls", "of a tensor; for users also by name, in any layout"),
    "predict": ("core/theory|library/calls", "of a scheme and shapes; and, for users, by name"),
    "main": ("cli/main|topics/*/*", "the entry of a program"),
    "build_script": ("export/scripts/*", "the script of a page"),
}
"""Names that several modules share on purpose: where they may be, and what they mean there."""

MEANINGLESS = frozenset({
    "again", "alike", "along", "already", "apart", "asked", "beside", "both", "done", "found",
    "further", "given", "here", "looked", "made", "many", "meant", "now", "of", "one", "only", "other", "over",
    "ready", "said", "shown", "so", "some", "such", "taken", "that", "then", "there", "those", "told", "tried",
    "way", "ways", "what", "where", "which", "whole", "whose",
})  # fmt: skip
"""Words that say nothing about a function, a class or a method."""

VAGUE_OPENINGS = frozenset({
    "As", "At", "By", "For", "From", "How", "If", "In", "Not", "Of", "On", "Only", "So", "Such", "That",
    "Those", "Though", "Under", "What", "When", "Where", "Whether", "Which", "Who", "Whose", "With", "Would",
})  # fmt: skip
"""Words with which no docstring begins."""

NOUN_OPENINGS = frozenset({
    "A", "All", "An", "Both", "Each", "Every", "It", "No", "None", "Nothing", "One", "Some", "The", "Their",
    "There", "This",
})  # fmt: skip
"""Words with which the docstring of a function or method does not begin: a verb says what it does."""


class Definition(NamedTuple):
    """A public function, class, method, property or constant, or a module."""

    module: str
    name: str
    line: int
    kind: str
    docstring: str

    def __str__(self) -> str:
        first = self.docstring.partition("\n")[0]
        return f"normviz/{self.module}.py:{self.line} {self.name}: {first}"


def find_kind(node: ast.FunctionDef | ast.ClassDef, owner: str) -> str:
    """Return the kind of a definition; a property is read like an attribute."""
    if isinstance(node, ast.ClassDef):
        return "class"
    decorators = " ".join(map(ast.unparse, node.decorator_list))
    kinds = (kind for kind in ("property", "classmethod") if kind in decorators)
    return next(kinds, "method" if owner else "function")


def list_definitions(module: str, body: list[ast.stmt], owner: str = "") -> Iterator[Definition]:
    """Yield the public definitions of a module's or a class's body."""
    for node, after in zip(body, [*body[1:], None], strict=True):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield Definition(
                module, owner + node.name, node.lineno, find_kind(node, owner), ast.get_docstring(node) or ""
            )
            if isinstance(node, ast.ClassDef):
                yield from list_definitions(module, node.body, f"{node.name}.")
        elif isinstance(node, ast.Assign | ast.AnnAssign) and isinstance(after, ast.Expr):
            target = node.targets[0] if isinstance(node, ast.Assign) else node.target
            named = isinstance(after.value, ast.Constant) and isinstance(after.value.value, str)
            if named and not ast.unparse(target).startswith("_"):
                yield Definition(module, owner + ast.unparse(target), node.lineno, "constant", after.value.value)


@cache
def read_package() -> tuple[Definition, ...]:
    """Return all public definitions of the package, and its modules."""
    found = []
    for path in sorted(Path(ROOT, "normviz").rglob("*.py")):
        module = path.relative_to(ROOT / "normviz").with_suffix("").as_posix()
        tree = ast.parse(path.read_text())
        found += [Definition(module, "module", 1, "module", ast.get_docstring(tree) or "")]
        found += list_definitions(module, tree.body)
    return tuple(found)


def find_homonyms(definitions: tuple[Definition, ...]) -> list[str]:
    """Return the functions and classes whose name another module has too, but for `INTERFACES`."""
    places = defaultdict(list)
    for each in definitions:
        if each.kind in ("function", "class") and "." not in each.name:
            patterns = INTERFACES.get(each.name, ("", ""))[0].split("|")
            if not any(fnmatch(each.module, pattern) for pattern in patterns):
                places[each.name].append(f"normviz/{each.module}.py:{each.line}")
    return [f"{name}: {', '.join(found)}" for name, found in places.items() if len(found) > 1]


def find_meaningless(definitions: tuple[Definition, ...]) -> list[str]:
    """Return the functions, classes and methods named by a word that means nothing; a constructor may be `Name.of`."""
    checked = (each for each in definitions if each.kind not in ("constant", "module"))
    named = ((each, each.name.rpartition(".")[2].lower()) for each in checked)
    return [str(each) for each, word in named if word in MEANINGLESS and (each.kind, word) != ("classmethod", "of")]


def find_vague_openings(definitions: tuple[Definition, ...]) -> list[str]:
    """Return the definitions whose docstring does not begin with a verb or a noun phrase, as its kind has to."""
    found = []
    for each in definitions:
        word = each.docstring.split(maxsplit=1)[0].strip(",.:;") if each.docstring.strip() else ""
        forbidden = VAGUE_OPENINGS | (
            NOUN_OPENINGS if each.kind in ("function", "method", "classmethod") else frozenset()
        )
        if word in forbidden:
            found.append(str(each))
    return found


RULES = [find_homonyms, find_meaningless, find_vague_openings]


@pytest.mark.parametrize("rule", RULES)
def test_the_package_keeps_a_rule(rule):
    found = rule(read_package())
    assert not found, "\n".join(found)


BREACHES = {
    find_homonyms: [("a", "def fit(): 'Fit.'"), ("b", "def fit(): 'Fit.'")],
    find_meaningless: [("a", "class Line:\n    def along(self): 'Move.'")],
    find_vague_openings: [("a", "def fit():\n    'The fit of a line.'")],
}


@pytest.mark.parametrize("rule", RULES)
def test_a_rule_can_be_broken(rule):
    definitions = [each for module, code in BREACHES[rule] for each in list_definitions(module, ast.parse(code).body)]
    assert len(rule(tuple(definitions))) == 1
    assert not any(other(tuple(definitions)) for other in RULES if other is not rule)


def test_an_interface_is_shared_and_in_its_place_only():
    for name, (pattern, reason) in INTERFACES.items():
        modules = [each.module for each in read_package() if each.name == name and each.kind != "constant"]
        assert len(modules) > 1, f"{name} is no homonym any more"
        assert reason
        assert all(any(fnmatch(module, one) for one in pattern.split("|")) for module in modules), (name, modules)
