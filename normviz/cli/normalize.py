"""`normviz normalize`: normalize a .npy tensor."""

import argparse
from pathlib import Path

from normviz.cli.files import read_tensor, write_finite
from normviz.cli.scheme_options import add_scheme_options, parse_scheme
from normviz.core.normalize import normalize


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `normalize`."""
    add_scheme_options(parser)
    parser.add_argument("input", type=Path, metavar="IN.npy")
    parser.add_argument("output", type=Path, metavar="OUT.npy")


def run(arguments: argparse.Namespace) -> None:
    """Normalize the tensor of a .npy file, and write the result to another, completely or not at all."""
    scheme = parse_scheme(arguments)
    x = read_tensor(arguments.input, scheme.axes)
    y = normalize(x, scheme, arguments.eps).y
    write_finite(arguments.output, y, f"{arguments.input} holds numbers that are too large: their statistics overflow")
