"""`normviz inspect`: report on the normalizations of a PyTorch model."""

import argparse
import sys
from importlib import import_module
from pathlib import Path
from typing import Any

from normviz.core.errors import InvalidInput
from normviz.data.output import format_json, print_message
from normviz.inspection.inspector import inspect


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `inspect`."""
    parser.add_argument("source", metavar="MODULE:FUNCTION", help="a function that returns a model and a batch")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Inspect the model that a function returns, and print the report; the exit code is 1 if there are mistakes."""
    report = inspect(*load_model(arguments.source))
    print(format_json(report.to_json()) if arguments.json else report)
    for finding in report.findings:
        print_message(f"{finding.layer or 'model'}: {finding.finding}")
    return 1 if any(finding.problem.is_mistake for finding in report.findings) else 0


def load_model(source: str) -> tuple[Any, Any]:
    """Return the model and batch that a function returns; `source`: "module:function", also of the working folder.

    Raises InvalidInput for no such module or function, one that fails, or a result that is no pair.
    """
    name, separator, function = source.partition(":")
    if not separator or not name or not function:
        raise InvalidInput(f"{source!r} is not MODULE:FUNCTION; my_model:make would call make() of my_model.py.")
    sys.path.insert(0, str(Path.cwd()))
    try:
        made = getattr(import_module(name), function)()
    except ImportError as error:
        raise InvalidInput(f"{name} cannot be imported: {error}.") from error
    except Exception as error:
        first_line = str(error).strip().partition("\n")[0][:200].rstrip(".")
        raise InvalidInput(f"{source} fails: {type(error).__name__}: {first_line}.") from error
    finally:
        sys.path.remove(str(Path.cwd()))
    if not isinstance(made, tuple) or len(made) != 2:
        raise InvalidInput(f"{source} returned a {type(made).__name__}; a pair of a model and a batch is needed.")
    return made
