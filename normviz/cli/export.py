"""`normviz export`: the state of a page, given by its link, as a script or a notebook."""

import argparse
from pathlib import Path

from normviz.classroom.lessons.lesson_links import silence_warnings
from normviz.core.errors import InvalidInput
from normviz.core.text import join_words
from normviz.data.output import write_file
from normviz.export.pages import FILE_FORMATS, format_page_file, read_page_view


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `export`: a page's link, and the path of the file."""
    parser.add_argument("link", metavar="LINK", help='of a page, such as "/?scheme=group&groups=3"')
    parser.add_argument("path", type=Path, metavar="OUT.ipynb|OUT.py", help="a notebook, or a script")


def run(arguments: argparse.Namespace) -> None:
    """Write the script or notebook of a page's link. Raises InvalidInput for a link or suffix that has none."""
    suffix = arguments.path.suffix.lower()
    if suffix not in FILE_FORMATS:
        raise InvalidInput(f"{arguments.path.name} ends in {suffix or 'nothing'}; {join_words(FILE_FORMATS)} would do.")
    with silence_warnings():
        content = format_page_file(*read_page_view(arguments.link), suffix)
    write_file(arguments.path, content.encode())
