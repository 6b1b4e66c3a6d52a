"""The command `normviz`, also `python -m normviz`."""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from typing import Never

import normviz
from normviz.core.errors import InvalidInput
from normviz.data.output import buffer_stdout, print_message
from normviz.jobs.failures import JobsFailed

TRAIN_EXTRA = ("train", "torch", "sklearn", "tqdm")
"""The extra that training commands need, and its libraries."""

TORCH_EXTRA = ("train", "torch")
"""The extra with PyTorch, for commands that do not train."""

APP_EXTRA = ("app", "streamlit", "plotly", "PIL", "sklearn", "torch", "jinja2")
"""The extra that the app needs, and its libraries."""

COMMANDS: dict[str, tuple[str, tuple[str, ...]]] = {
    "schemes": ("list the schemes with their fields and papers", ()),
    "normalize": ("normalize a .npy tensor (N, H, W, C)", ()),
    "backward": ("compute the gradient with respect to a .npy tensor x from the gradient with respect to y = x̂", ()),
    "detect": ("name the normalization that computes Y.npy from X.npy", ()),
    "exercise": ("draw the inputs of a homework task, other ones for each seed", ()),
    "answer": ("judge homework by its numbers, of one student or a class: right, or which mistake it is", ()),
    "inspect": ("report on the normalizations of a PyTorch model: MODULE:FUNCTION returns it and a batch", TORCH_EXTRA),
    "record": ("save that report and the layers' inputs as .npz for the app: MODULE:FUNCTION OUT.npz", TORCH_EXTRA),
    "table1": ("Table 1 of Ba et al. 2016: predicted, measured forward, and trained", TRAIN_EXTRA),
    "experiment": ("test a claim of a paper: NAME and the options of its page; no NAME: lists them", TRAIN_EXTRA),
    "sweep": ("run an experiment at every combination of values: as --rate 0.1,1 --seed 0,5", TRAIN_EXTRA),
    "claims": ("measure what the sources claim: verdicts and evidence", TRAIN_EXTRA),
    "design": ("find schemes with some invariances, or why there are none", ()),
    "lessons": ("list the lessons; check your own, or make a handout", APP_EXTRA),
    "export": ("the state of a page, by its link, as a notebook or a script that prints its numbers", APP_EXTRA),
    "serve": ("serve the app", APP_EXTRA),
}
"""Each command with its help text, and the extra and libraries that it needs; its module has the same name."""

MODULE_NAMES = {"sweep": "experiment"}
"""Modules with another name than their command."""


class CommandParser(argparse.ArgumentParser):
    """Parser of the command line; its usage errors are InvalidInput of one line."""

    def error(self, message: str) -> Never:
        """Raise InvalidInput with the message, where argparse would print the usage and exit."""
        raise InvalidInput(f"{message} (see normviz --help)")


def build_parser(command: str | None = None) -> CommandParser:
    """Build the parser of the command line, with the options of one command.

    Only the module of this command is imported. Raises InvalidInput if a library that it needs is missing.
    """
    parser = CommandParser(prog="normviz", description="See and test normalization in deep learning.")
    parser.add_argument("--version", action="version", version=f"normviz {normviz.__version__}")
    subparsers = parser.add_subparsers(required=True, metavar=" | ".join(COMMANDS), parser_class=CommandParser)
    for name, (help_text, libraries) in COMMANDS.items():
        subparser = subparsers.add_parser(name, help=help_text)
        if name == command:
            check_libraries(*libraries)
            module = import_module(f"normviz.cli.{MODULE_NAMES.get(name, name)}")
            module.add_options(subparser)
            subparser.set_defaults(run=module.run, command=name)
    return parser


def check_libraries(extra: str = "", *libraries: str) -> None:
    """Raise InvalidInput, which says what to install, if a library of this optional extra is missing."""
    missing = [name for name in libraries if find_spec(name) is None]
    if missing:
        raise InvalidInput(f"this needs {', '.join(missing)}; pip install 'normviz[{extra}]' brings all that it needs.")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 stands for success; 1 for answers that disagree, a design that no scheme meets, a job that failed, or a reader of
    standard output that has gone; 2 for bad input or too little memory, with one line on stderr; 130 for a run that was
    interrupted. What the command prints is written at its end.
    """
    try:
        with buffer_stdout():
            words = sys.argv[1:] if argv is None else argv
            arguments = build_parser(next(iter(words), None)).parse_args(words)
            return arguments.run(arguments) or 0
    except InvalidInput as error:
        print_message(str(error))
        return 2
    except JobsFailed as error:
        print_message(str(error))
        return 1
    except MemoryError:
        print_message("there is too little memory.")
        return 2
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt as error:
        print_message(str(error) or "interrupted.")
        return 130
