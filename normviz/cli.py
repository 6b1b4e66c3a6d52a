"""The command `normviz`, also `python -m normviz`: tensors, gradients, homework, Table 1, experiments, claims, app."""

import argparse
import socket
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Never

import normviz
from normviz import commands
from normviz.core.errors import InvalidInput
from normviz.core.layouts import LAYOUTS
from normviz.core.schemes import SCHEMES
from normviz.core.settings import add_options
from normviz.core.transformations import LAYERS, TRANSFORMATIONS
from normviz.data.output import collected_stdout, print_message
from normviz.networks.setting import DEVICES, Setting


def port(text: str) -> int:
    """A port as written on the command line, 1 to 65535."""
    number = int(text)
    if not 1 <= number <= 65_535:
        raise argparse.ArgumentTypeError(f"a port is a number from 1 to 65535; this one is {number}.")
    return number


def address(text: str) -> str:
    """Return an address of this machine as written on the command line, a name or a number."""
    family = socket.AF_INET6 if ":" in text else socket.AF_INET
    with suppress(OSError, UnicodeError), socket.socket(family) as probe:
        if text:  # an empty one would mean every network
            probe.bind((text, 0))
            return text
    raise argparse.ArgumentTypeError(
        f"{text!r} is no address of this machine; localhost serves this machine alone, 0.0.0.0 all of its networks."
    )


class Parser(argparse.ArgumentParser):
    """A parser whose usage errors are InvalidInput, told in one line as all bad input is."""

    def error(self, message: str) -> Never:
        """Raise InvalidInput with the message, where argparse would print the usage and exit."""
        raise InvalidInput(f"{message} (see normviz --help)")


def build_parser() -> Parser:
    """The command line."""
    parser = Parser(
        prog="normviz",
        description="See and test normalization in deep learning.",
    )
    parser.add_argument("--version", action="version", version=f"normviz {normviz.__version__}")
    names = "schemes | normalize | backward | answer | table1 | experiment | sweep | claims | design | serve"
    jobs = parser.add_subparsers(required=True, metavar=names, parser_class=Parser)
    job = jobs.add_parser("schemes", help="list the schemes with their fields and papers")
    job.add_argument("--json", action="store_true")
    job.set_defaults(run=commands.list_schemes)
    job = jobs.add_parser("normalize", help="normalize a .npy tensor (N, H, W, C)")
    add_scheme(job)
    job.add_argument("input", type=Path, metavar="IN.npy")
    job.add_argument("output", type=Path, metavar="OUT.npy")
    job.set_defaults(run=commands.normalize_file)
    job = jobs.add_parser("backward", help="the gradient by a .npy tensor x, from that by y = x̂")
    add_scheme(job)
    job.add_argument("input", type=Path, metavar="X.npy")
    job.add_argument("gradient", type=Path, metavar="DY.npy")
    job.add_argument("output", type=Path, metavar="DX.npy")
    job.set_defaults(run=commands.backward_file)
    job = jobs.add_parser("answer", help="homework judged by its numbers: right, or which mistake it is")
    add_scheme(job)
    job.add_argument("--layout", required=True, metavar="KEY", help=", ".join(LAYOUTS))
    job.add_argument("inputs", type=Path, metavar="INPUTS.npz", help="x, and gamma, beta, eps, dout where wanted")
    job.add_argument("answer", type=Path, metavar="ANSWER.npz", help="any of out, dx, dgamma, dbeta")
    job.add_argument("--json", action="store_true")
    job.set_defaults(run=commands.judge_answer)
    add_table1(jobs)
    for name, told in (
        ("experiment", "what the papers promise, tried out: NAME and the options of its page; no NAME: lists them"),
        ("sweep", "an experiment at every combination of values: as --rate 0.1,1 --seed 0,5"),
    ):
        job = jobs.add_parser(name, help=told)
        job.add_argument("words", nargs=argparse.REMAINDER, metavar="NAME [--KEY VALUE …] [--json]")
        job.set_defaults(run=commands.run_experiments, command=name)
    job = jobs.add_parser("claims", help="what the sources claim, measured: verdicts and evidence")
    job.add_argument("--id", action="append", default=[], metavar="ID,ID", help="of these claims; else the quick ones")
    job.add_argument("--all", action="store_true", help="the long ones too, as jobs whose results are kept")
    job.add_argument("--seed", type=int, default=0, metavar="S", help="first seed; 0 by default")
    job.add_argument("--json", action="store_true")
    job.set_defaults(run=commands.check_claims)
    job = jobs.add_parser("design", help="the schemes that have the invariances that are needed, or why there are none")
    job.add_argument("--layer", default="dense", metavar="L", help=f"{', '.join(LAYERS)}; dense by default")
    job.add_argument("--need", default="", metavar="KEY,KEY", help=", ".join(TRANSFORMATIONS))
    job.add_argument("--without", default="", metavar="KEY,KEY", help="what must not be absorbed")
    job.add_argument("--condition", default="", metavar="KEY,KEY", help="what else it has to do; unknown: lists them")
    job.add_argument("--weights", default="none", metavar="KEY", help="in front: none, any, or a scheme of weights")
    job.add_argument("--census", action="store_true", help="all sets of invariances, with how many schemes have them")
    job.add_argument("--trained", action="store_const", const=True, help="with --census: train its schemes with twins")
    job.add_argument("--sample", metavar="K|all", help="schemes of each set; all by default on a dense layer, else 8")
    job.add_argument("--seed", type=int, metavar="S", help="of the sample and the training; 0 by default")
    job.add_argument("--device", metavar="D", help=f"to train on: {', '.join(DEVICES)}; auto by default")
    job.add_argument("--json", action="store_true")
    job.set_defaults(run=commands.design_schemes)
    job = jobs.add_parser("serve", help="serve the app")
    job.add_argument("--port", type=port, default=8501, metavar="P", help="8501 by default")
    job.add_argument("--address", type=address, metavar="A", help="localhost by default; 0.0.0.0: all networks")
    job.set_defaults(run=commands.serve)
    return parser


def add_scheme(job: Parser) -> None:
    """The options that choose one scheme, its parameters and ε."""
    job.add_argument("--scheme", required=True, metavar="KEY", help=", ".join(SCHEMES))
    job.add_argument("--groups", type=int, metavar="G", help="number of groups")
    job.add_argument("--radius", type=int, metavar="R", help="radius of the windows")
    job.add_argument("--alpha", type=float, metavar="A", help="α of a pointwise scheme, above 0; its own by default")
    job.add_argument("--eps", type=float, metavar="E", help="ε, from 0; the scheme's own by default")
    job.add_argument(
        "--field",
        metavar="N=full,H=own,…",
        help="rules of the custom scheme: own, full, groups(G), window(R)",
    )


def add_table1(jobs: "argparse._SubParsersAction[Parser]") -> None:
    """The options of `table1`: the rows, and every value that `Setting` declares."""
    job = jobs.add_parser(
        "table1",
        help="Table 1 of Ba et al. 2016: predicted, measured forward, and trained",
    )
    job.add_argument(
        "--schemes",
        default="batch,weight,layer",
        metavar="K,K",
        help=", ".join(SCHEMES),
    )
    job.add_argument("--groups", type=int, metavar="G", help="number of groups")
    job.add_argument("--radius", type=int, metavar="R", default=2, help="radius of the windows")
    job.add_argument(
        "--field",
        metavar="N=full,…",
        help="rules of the custom scheme, which this adds",
    )
    job.add_argument("--front", metavar="KEY", help="scheme of the weights in front of the custom scheme, also added")
    add_options(job, Setting)
    job.add_argument("--json", action="store_true")
    job.set_defaults(run=commands.print_table1)


def main(argv: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code.

    0 stands for success; 1 for answers that disagree, a design that no scheme meets, a job that failed, or a reader of
    standard output that has gone; 2 for bad input or too little memory, with one line on stderr; 130 for a run that was
    interrupted. What the command prints is written at its end.
    """
    try:
        with collected_stdout():
            arguments = build_parser().parse_args(argv)
            return arguments.run(arguments) or 0
    except InvalidInput as error:
        print_message(str(error))
        return 2
    except MemoryError:
        print_message("there is too little memory.")
        return 2
    except BrokenPipeError:
        return 1
    except KeyboardInterrupt:
        print_message("interrupted.")
        return 130
