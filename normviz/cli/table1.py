"""`normviz table1`: Table 1 of Ba et al. 2016, predicted, measured forward and trained."""

import argparse
from collections.abc import Sequence

from normviz.cli.scheme_options import make_schemes
from normviz.cli.setting_options import add_setting_options
from normviz.core.registry import SCHEMES
from normviz.core.settings import build_settings
from normviz.data.output import format_json, print_message
from normviz.jobs.executors import limit_to_one_core
from normviz.topics.table1.table import Cell, measure_cells
from normviz.train.setting import Setting


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the rows of Table 1, and one for every value of `Setting`."""
    parser.add_argument("--schemes", default="batch,weight,layer", metavar="K,K", help=", ".join(SCHEMES))
    parser.add_argument("--groups", type=int, metavar="G", help="number of groups")
    parser.add_argument("--radius", type=int, metavar="R", default=2, help="radius of the windows")
    parser.add_argument("--field", metavar="N=full,…", help="rules of the custom scheme, which this adds")
    parser.add_argument(
        "--front", metavar="KEY", help="scheme of the weights in front of the custom scheme, also added"
    )
    add_setting_options(parser, Setting)
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> int:
    """Predict, measure, train and print the cells of Table 1 (Ba et al. 2016); return 1 if answers disagree."""
    schemes, setting = make_schemes(arguments), build_settings(Setting, vars(arguments))
    limit_to_one_core()  # on a busy machine the threads of small products wait for each other, ten times as long
    cells = measure_cells(schemes, setting)
    if arguments.json:
        print(format_json([cell.to_record() for cell in cells]))
        return report_disagreements(cells)
    words = {True: "invariant", False: "not", None: "–"}
    width = 2 + max((len(cell.row_name) for cell in cells), default=22)
    print(
        f"{'':{width + 24}}{'paper':>10}{'predicted':>11}{'forward gap':>13}{'training gap':>14}{'at equal rate':>15}"
    )
    for cell in cells:
        predicted = "degenerate" if cell.degenerate else "–" if cell.unchanged else words[cell.predicted]
        gaps = f"{cell.forward_gap:13.0e}{cell.training_gap:14.0e}{cell.training_gap_equal_lr:15.0e}"
        mark = "" if cell.agrees else "  disagree"
        mark += f"  {cell.missing_reasons}" if cell.missing_reasons else ""
        print(f"{cell.row_name:{width}}{cell.transformation:24}{words[cell.paper]:>10}{predicted:>11}{gaps}{mark}")
    return report_disagreements(cells)


def report_disagreements(cells: Sequence[Cell]) -> int:
    """Print on stderr the cells whose theory and measurement disagree; return the exit code, 1 if any do."""
    wrong = [cell for cell in cells if not cell.agrees]
    for cell in wrong:
        print_message(f"the answers on {cell.row_name} × {cell.transformation} disagree.")
    return 1 if wrong else 0
