"""Links, paths, commands, options and names in the documents are those of the code."""

import ast
import doctest
import re
import shlex
import subprocess
import sys
import tomllib
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from pkgutil import resolve_name

import pytest
from browsing import ROOT

import normviz
from normviz.cli.main import COMMANDS, build_parser
from normviz.core import settings
from normviz.core.fields import Field
from normviz.core.registry import SCHEMES, Reference, Scheme
from normviz.ui.page_texts import PAGE_TEXTS

DOCUMENTS = [
    ROOT / name for name in ("README.md", "CONTRIBUTING.md", "benchmarks/README.md")
] + sorted((ROOT / "docs").glob("*.md"))  # fmt: skip
FOLDERS = "normviz|tests|benchmarks|pages|docs"
each_document = pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))


def read_code(text):
    """Return the pieces of code in a text: inline, in fences, and the lines of indented blocks."""
    fences = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL)
    rest = re.sub(r"```\w*\n(.*?)```", "", text, flags=re.DOTALL)
    inline = re.findall(r"`([^`\n]+)`", rest)
    indented = re.findall(r"^ {4}(.+)$", rest, re.MULTILINE)
    return [line for block in fences for line in block.splitlines()] + inline + indented


def find_commands(text, program):
    """Return the command lines that begin with a program, without comments and variables, as lists of words."""
    found = []
    for line in read_code(text):
        plain = re.sub(r"^([A-Z_]+=(\"[^\"]*\"|\S+) )+", "", line.strip())
        if plain.startswith(f"{program} ") and not re.search(r"…|\[|KEY|COMMAND", plain.partition("#")[0]):
            found.append(shlex.split(plain, comments=True)[1:])
    return found


def anchor(heading):
    """Return the anchor of a heading as GitHub makes it."""
    return re.sub(r"[^\w\- ]", "", heading.strip().lower()).replace(" ", "-")


def names_in(path):
    """Return the names that a module binds at its top, and those of its classes with a dot between."""
    tree = ast.parse(path.read_text())
    found = set()
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
        if isinstance(node, ast.ClassDef):
            members = [each for each in node.body if isinstance(each, ast.FunctionDef)]
            found |= {f"{node.name}.{each.name}" for each in members}
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        found |= {target.id for target in targets if isinstance(target, ast.Name)}
    return found


@pytest.mark.parametrize("document", sorted({*DOCUMENTS, *ROOT.glob("*.md")}), ids=lambda path: path.name)
def test_links_lead_to_files_and_headings(document):
    text = document.read_text()
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"https?://", target):
            continue
        path, _, heading = target.partition("#")
        file = document.parent / path if path else document
        assert file.exists(), f"{target} does not exist"
        if heading:
            assert heading in map(anchor, re.findall(r"^#+ (.+)$", file.read_text(), re.MULTILINE)), target


@each_document
def test_paths_and_the_names_in_them_exist(document):
    for code in read_code(document.read_text()):
        for path, name in re.findall(rf"(?<![\w/.~-])((?:{FOLDERS})/[\w/.*-]*\w/?)(?::([\w.]+))?", code):
            found = sorted(ROOT.glob(path.replace("NAME", "*")))
            assert found or path == "benchmarks/gpu.md", f"{path} does not exist"
            assert not name or name in names_in(found[0]), f"{name} is not in {path}"


@each_document
def test_names_of_the_package_exist(document):
    for code in read_code(document.read_text()):
        for name in re.findall(r"(?<![\w/.])normviz(?:\.[A-Za-z]\w*)+", code):
            resolve_name(name)


@each_document
def test_targets_of_make_exist(document):
    makefile = Path(ROOT, "Makefile").read_text()
    targets = set(re.findall(r"^([\w-]+):", makefile, re.MULTILINE))
    for words in find_commands(document.read_text(), "make"):
        given = [word for word in words if "=" not in word]
        assert set(given) <= targets, given
        assert all(f"{word.partition('=')[0]}" in makefile for word in words if "=" in word)


@each_document
def test_commands_have_these_options(document):
    for words in find_commands(document.read_text(), "normviz"):
        if words in (["--version"], ["--help"]):
            continue
        assert words[0] in COMMANDS, words
        build_parser(words[0]).parse_args(words)


def test_every_command_is_in_the_document_on_commands():
    text = Path(ROOT, "docs/command-line.md").read_text()
    assert {words[0] for words in find_commands(text, "normviz")} == set(COMMANDS)


def test_the_documents_name_the_variables_of_the_environment():
    pattern = r"\bNORMVIZ_[A-Z_]+"
    code = {name for path in Path(ROOT, "normviz").rglob("*.py") for name in re.findall(pattern, path.read_text())}
    assert set(re.findall(pattern, Path(ROOT, "docs/hosting.md").read_text())) == code
    for document in DOCUMENTS:
        assert set(re.findall(pattern, document.read_text())) <= code, document


def test_the_notes_for_teachers_are_those_of_the_app():
    spec = spec_from_file_location("page_notes", Path(ROOT, "docs/page_notes.py"))
    page_notes = module_from_spec(spec)
    spec.loader.exec_module(page_notes)
    text = page_notes.PATH.read_text()
    assert page_notes.write_notes(text) == text, "run: .venv/bin/python docs/page_notes.py"


def test_the_pages_are_those_of_the_menu():
    rows = re.findall(r"^\|([^|]*)\| ([^|]+) \| `/(\w*)` \|", Path(ROOT, "docs/pages.md").read_text(), re.MULTILINE)
    sections = [section.strip() for section, _, _ in rows]
    filled = [section or next(each for each in reversed(sections[:k]) if each) for k, section in enumerate(sections)]
    assert [(section, title, page or "tensor_lab") for section, (_, title, page) in zip(filled, rows, strict=True)] == [
        (each.section, each.title, each.page) for each in PAGE_TEXTS
    ]


def test_the_readme_fits_on_a_screen_and_names_both_commands():
    text = Path(ROOT, "README.md").read_text()
    before, more, after = text.partition("\nMore:")
    assert more
    assert before.count("\n") <= 40
    assert len(re.findall(r"\]\(", after)) == 3
    assert {"make run", "make test"} <= {" ".join(["make", *words]) for words in find_commands(text, "make")}


def test_every_public_name_is_in_the_reference():
    named = re.findall(r"^::: normviz\.(\w+)$", Path(ROOT, "docs/reference.md").read_text(), re.MULTILINE)
    assert set(named) == set(normviz.__all__) - {"__version__"}


def test_the_public_names_are_those_of_the_library():
    table = Path(ROOT, "docs/library.md").read_text().partition("| name |")[2]
    named = {name for row in re.findall(r"^\| (`.+?) \|", table, re.MULTILINE) for name in re.findall(r"`(\w+)", row)}
    assert named == set(normviz.__all__) - {"__version__"}


@pytest.mark.parametrize("name", ["README.md", "docs/README.md", "docs/library.md"])
def test_lines_of_python_run(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where they write their files
    blocks = re.findall(r"```python\n(.*?)```", Path(ROOT, name).read_text(), re.DOTALL)
    assert blocks
    for block in blocks:
        exec(block, {})


def test_recipes_of_a_scheme_and_of_a_setting_are_valid():
    scheme, setting = re.findall(r"```python\n(.*?)```", Path(ROOT, "CONTRIBUTING.md").read_text(), re.DOTALL)
    made = eval(scheme, {"Scheme": Scheme, "Reference": Reference, "Field": Field})
    assert made.key not in SCHEMES
    namespace = {"real": settings.real, "__annotations__": {}}
    exec(setting, namespace)
    name, declared = next((name, each) for name, each in namespace.items() if isinstance(each, settings.Declaration))
    assert declared.find_nearest_value("2", {}) == 1
    assert name == "decay"


def test_the_topics_are_the_folders():
    table = Path(ROOT, "docs/architecture.md").read_text().partition("| topic | page |")[2].partition("\n\n")[0]
    titles = dict(re.findall(r"`(\w+)` \| ([^|]+?) \|", table))
    folders = {path.parent.name for path in Path(ROOT, "normviz/topics").glob("*/state.py")}
    assert set(titles) == folders
    assert sorted(titles.values()) == sorted(page.title for page in PAGE_TEXTS if page.section != "Teach")


def test_the_folders_are_the_layers_of_the_contract():
    table = Path(ROOT, "docs/architecture.md").read_text().partition("| folder |")[2].partition("\n\n")[0]
    folders = re.findall(r"^\| `(\w+)`", table, re.MULTILINE)
    contracts = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = next(each["layers"] for each in contracts if each["containers"] == ["normviz"])
    assert folders == ["pages", *(name for layer in layers[1:] for name in re.findall(r"\w+", layer))]


@pytest.mark.parametrize("way", ["tensor", "training"])
def test_a_way_has_at_most_eight_steps_and_each_names_the_code(way):
    text = Path(ROOT, "docs/architecture.md").read_text().partition(f"## The way of a {way}")[2].partition("\n## ")[0]
    steps = re.split(r"^\d\. ", text, flags=re.MULTILINE)[1:]
    assert 5 <= len(steps) <= 8
    assert all("`" in step for step in steps)


def test_benchmarks_have_these_options():
    text = Path(ROOT, "benchmarks/README.md").read_text()
    for script, options in re.findall(r"benchmarks/(\w+)\.py([^`\n]*)", text):
        code = Path(ROOT, f"benchmarks/{script}.py").read_text()
        for option in re.findall(r"--[a-z-]+", options):
            assert f'"{option}"' in code, (script, option)


def test_all_addresses_of_the_repository_are_that_of_the_package():
    project = tomllib.loads(Path(ROOT, "pyproject.toml").read_text())["project"]
    texts = [*DOCUMENTS, *ROOT.glob("*.md"), *ROOT.glob("*.yml"), *ROOT.glob("examples/*"), *ROOT.glob(".github/*/*")]
    pattern = r"https://(?:github\.com|colab\.research\.google\.com/github)/([\w-]+/normviz)\b"
    found = {address for path in texts for address in re.findall(pattern, path.read_text())}
    assert {f"https://github.com/{address}" for address in found} == {project["urls"]["Source"]}


def import_hooks():
    """Return the module of the site's hooks."""
    spec = spec_from_file_location("site_pages", Path(ROOT, "docs/site_pages.py"))
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_links_are_rebased_for_the_site():
    assert doctest.testmod(import_hooks()).failed == 0
    rebase_links, pages = import_hooks().rebase_links, {"CONTRIBUTING.md": "contributing.md", "docs/a.md": "a.md"}
    text = "[1](../CONTRIBUTING.md#tests) [2](a.md) [3](../app.py) [4](https://a.b) [5](#here) [6](none.md)"
    assert rebase_links(text, "docs/b.md", "b.md", pages, "//r") == (
        "[1](contributing.md#tests) [2](a.md) [3](//r/blob/main/app.py) [4](https://a.b) [5](#here) [6](none.md)"
    )


@pytest.mark.heavy
def test_the_site_builds_without_a_broken_link_and_loads_nothing_from_elsewhere(tmp_path):
    pytest.importorskip("mkdocs", reason="`make docs` installs it")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", tmp_path]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    pages = {path: path.read_text() for path in tmp_path.rglob("*.html")}
    assert len(pages) > 10
    loading = r"<(?:script|img|iframe)[^>]* src=\"(https?:[^\"]+)|<link[^>]* rel=\"(?:stylesheet|preconnect)\"[^>]*//"
    assert [(path, text) for path, html in pages.items() for text in re.findall(loading, html)] == []
    cubes = re.findall(r'<iframe [^>]*src="([^"]*)"', (tmp_path / "gallery/index.html").read_text())
    assert len(cubes) == 5
    assert all((tmp_path / "gallery" / cube).is_file() for cube in cubes)
    reference = (tmp_path / "reference/index.html").read_text()
    assert all(f'id="normviz.{name}"' in reference for name in set(normviz.__all__) - {"__version__"})
