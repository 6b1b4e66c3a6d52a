"""`normviz backward`: the gradient of a normalization with respect to a .npy tensor."""

import argparse
from pathlib import Path

from normviz.cli.files import read_tensor, write_finite
from normviz.cli.scheme_options import add_scheme_options, parse_scheme
from normviz.core.backward import backward
from normviz.core.errors import InvalidInput


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `backward`."""
    add_scheme_options(parser)
    parser.add_argument("input", type=Path, metavar="X.npy")
    parser.add_argument("gradient", type=Path, metavar="DY.npy")
    parser.add_argument("output", type=Path, metavar="DX.npy")


def run(arguments: argparse.Namespace) -> None:
    """Compute ∂L/∂x from the .npy files of x and ∂L/∂y (y = x̂), and write it to a third."""
    scheme = parse_scheme(arguments)
    x, dy = (read_tensor(path, scheme.axes) for path in (arguments.input, arguments.gradient))
    if dy.shape != x.shape:
        raise InvalidInput(f"{arguments.gradient} has the shape {dy.shape}; that of {arguments.input} is {x.shape}.")
    dx = backward(x, dy, scheme, arguments.eps)
    message = f"{arguments.input} or {arguments.gradient} holds numbers that are too large or small: they overflow"
    write_finite(arguments.output, dx, message)
