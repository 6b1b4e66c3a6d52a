"""`normviz exercise`: draw the inputs of a homework task, other ones for each seed."""

import argparse
from pathlib import Path

from normviz.cli.scheme_options import add_scheme_options, parse_scheme
from normviz.core.errors import InvalidInput
from normviz.core.layouts import LAYOUTS
from normviz.data.output import write_file
from normviz.topics.gradients.answers import make_inputs
from normviz.topics.gradients.exercise import pack_npz


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `exercise`."""
    add_scheme_options(parser)
    parser.add_argument("--layout", required=True, metavar="KEY", help=", ".join(LAYOUTS))
    parser.add_argument("--shape", required=True, metavar="N,C,…", help="shape of x in the layout, as 4,6,5,5")
    parser.add_argument("--seed", type=int, default=0, help="seed of the numbers: one for each student")
    parser.add_argument("--dtype", default="float64", help="float64 or float32")
    parser.add_argument("output", type=Path, metavar="INPUTS.npz")


def run(arguments: argparse.Namespace) -> None:
    """Draw x, gamma, beta, eps and dout by the seed, and write them to the .npz file that `normviz answer` reads."""
    if arguments.seed < 0:
        raise InvalidInput(f"a seed is a whole number from 0; this one is {arguments.seed}.")
    lengths = arguments.shape.replace("×", ",").split(",")
    if not all(each.strip().isdecimal() and len(each) < 10 for each in lengths):
        raise InvalidInput(f"{arguments.shape!r} is not a shape; write whole numbers with commas, as 4,6,5,5.")
    shape = tuple(map(int, lengths))
    scheme = parse_scheme(arguments)
    inputs = make_inputs(scheme, arguments.layout, shape, arguments.seed, arguments.dtype, arguments.eps)
    write_file(arguments.output, pack_npz(inputs))
