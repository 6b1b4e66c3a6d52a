"""`normviz serve`: serve the app."""

import argparse
import os
import socket
import sys
from contextlib import suppress
from pathlib import Path

import normviz
from normviz.classroom.lessons.catalogue import LESSONS_VARIABLE, load_lessons
from normviz.ui.security import check_environment


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `serve`."""
    parser.add_argument("--port", type=port, default=8501, metavar="P", help="8501 by default")
    parser.add_argument(
        "--address", type=parse_address, metavar="A", help="localhost by default; 0.0.0.0: all networks"
    )


def port(text: str) -> int:
    """Parse a port number, 1 to 65535, from the command line; argparse prints the function's name in errors."""
    number = int(text)
    if not 1 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535; this one is {number}.")
    return number


def parse_address(text: str) -> str:
    """Return the text if it names an address of this machine, by name or number; else raise argparse's error."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    with suppress(OSError, UnicodeError), socket.socket(family) as probe:
        if text:  # an empty one would mean every network
            probe.bind((text, 0))
            return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is no address of this machine; localhost serves this machine alone, 0.0.0.0 all of its networks."
    )


def run(arguments: argparse.Namespace) -> None:
    """Serve the app until it is interrupted, from any folder.

    Raises InvalidInput if an environment variable has an invalid value, or a lesson is broken.
    """
    check_environment(os.environ)
    if os.environ.get(LESSONS_VARIABLE):
        load_lessons(os.environ)
    if os.environ.get("NORMVIZ_DATABASE"):
        from normviz.classroom.rooms.database import read_database_url  # SQLAlchemy comes with the extra app

        read_database_url(os.environ)
    os.chdir(find_app_folder())  # Streamlit looks here for .streamlit/config.toml
    options = {"--server.port": arguments.port, "--server.address": arguments.address}
    given = [word for name, value in options.items() if value is not None for word in (name, str(value))]
    # The server replaces this process, so that a signal to this process, as by Ctrl-C, ends the server.
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", "run", "app.py", *given])


def find_app_folder() -> Path:
    """Return the folder of app.py, pages/ and .streamlit/: in the installed package, otherwise the checkout."""
    package = Path(normviz.__file__).parent
    return next(folder for folder in (package / "app", package.parent) if (folder / "app.py").exists())
