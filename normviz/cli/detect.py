"""`normviz detect`: name the normalization between two .npy arrays."""

import argparse
import json
from pathlib import Path

from normviz.cli.files import read_bytes
from normviz.core.layouts import EXAMPLES
from normviz.data.files import read_npy
from normviz.library.detection import detect


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `detect`."""
    parser.add_argument("input", type=Path, metavar="X.npy", help="input of the layer")
    parser.add_argument("output", type=Path, metavar="Y.npy", help="its output, of the same shape")
    parser.add_argument("--layout", metavar="L", help=f"one letter per axis: {EXAMPLES}; without it, all are tried")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> None:
    """Print which normalization computes Y.npy from X.npy, and the evidence."""
    x, y = (read_npy(read_bytes(path)) for path in (arguments.input, arguments.output))
    found = detect(x, y, arguments.layout)
    if arguments.json:
        print(json.dumps(found.to_record()))
        return
    print(found.summary)
    for sentence in found.evidence:
        print(f"  {sentence}")
