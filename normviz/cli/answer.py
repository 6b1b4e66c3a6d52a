"""`normviz answer`: judge homework by its numbers, of one student or of a class."""

import argparse
import json
from pathlib import Path

from normviz.cli.files import read_bytes
from normviz.cli.scheme_options import add_scheme_options, parse_scheme
from normviz.core.errors import InvalidInput
from normviz.core.layouts import LAYOUTS
from normviz.data.bounds import MAX_UNPACKED_BYTES
from normviz.data.files import read_npz
from normviz.data.output import print_message, write_file
from normviz.topics.gradients.answers import ANSWER_NAMES, judge_answer
from normviz.topics.gradients.submissions import format_csv_rows, judge_folder


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `answer`."""
    add_scheme_options(parser)
    parser.add_argument("--layout", required=True, metavar="KEY", help=", ".join(LAYOUTS))
    parser.add_argument(
        "inputs",
        type=Path,
        metavar="INPUTS.npz",
        help="x, and gamma, beta, eps, dout where wanted; for a class also a folder with one such file per student",
    )
    parser.add_argument(
        "answer", type=Path, metavar="ANSWER.npz", help="any of out, dx, dgamma, dbeta; or the folder of a class"
    )
    parser.add_argument("--csv", type=Path, metavar="OUT.csv", help="table of a class: a row per student and array")
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> None:
    """Judge a homework answer, or a folder of them; print if each array is right, or which mistake explains it."""
    if arguments.answer.is_dir():
        _judge_class(arguments)
        return
    if arguments.csv is not None:
        raise InvalidInput(f"--csv goes with a folder of answers; {arguments.answer} is none.")
    scheme = parse_scheme(arguments)
    inputs, answer = (
        read_npz(read_bytes(path, MAX_UNPACKED_BYTES + 1)) for path in (arguments.inputs, arguments.answer)
    )
    verdicts = judge_answer(scheme, arguments.layout, inputs, answer, arguments.eps)
    if arguments.json:
        print(json.dumps({name: verdict.to_record() for name, verdict in verdicts.items()}))
    labels = {name: name if name in ANSWER_NAMES else repr(name[:40]) for name in verdicts}
    width = max(7, *map(len, labels.values())) + 1
    for name, verdict in verdicts.items():
        error = "" if verdict.error is None else f", error {verdict.error:.1e}"
        if not arguments.json:
            word = "right" if verdict.right else verdict.mistake or ("not judged" if verdict.problem else "wrong")
            print(f"{labels[name]:{width}}{word}{error}")
        if not verdict.right:
            print_message(verdict.problem or f"{name} is wrong. {verdict.explanation}")


def _judge_class(arguments: argparse.Namespace) -> None:
    """Judge a folder of answers; write a table of them to the file of --csv, or print it, or print JSON."""
    scheme = parse_scheme(arguments)
    rows = judge_folder(scheme, arguments.layout, arguments.inputs, arguments.answer, arguments.eps)
    if arguments.csv is not None:
        write_file(arguments.csv, format_csv_rows(rows).encode("utf-8-sig"))  # with the mark that spreadsheets look for
    if arguments.json:
        print(json.dumps([row._asdict() for row in rows]))
    elif arguments.csv is None:
        print(format_csv_rows(rows), end="")
