"""`normviz record`: save a report on a PyTorch model and the activations that enter its normalizations."""

import argparse
from pathlib import Path

from normviz.cli.inspect import load_model
from normviz.describe.wording import pluralize
from normviz.inspection.activations import check_recording_path, record


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `record`."""
    parser.add_argument("source", metavar="MODULE:FUNCTION", help="a function that returns a model and a batch")
    parser.add_argument("output", type=Path, metavar="OUT.npz", help="the file for the page Your model, up to 5 MB")


def run(arguments: argparse.Namespace) -> None:
    """Save a recording of the model that a function returns, and print what it holds."""
    check_recording_path(arguments.output)
    report = record(*load_model(arguments.source), arguments.output)
    layers, findings = pluralize(len(report.layers), "layer"), pluralize(len(report.findings), "finding")
    size = arguments.output.stat().st_size / 1000
    print(f"{arguments.output}: {layers}, {findings}, {size:,.0f} kB. Open this file in the app, under Your model.")
