"""`normviz schemes`: list the schemes with their fields and papers."""

import argparse
from typing import Any

from normviz.core.registry import SCHEMES, Scheme
from normviz.data.output import format_json


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of the command `schemes`."""
    parser.add_argument("--json", action="store_true")


def run(arguments: argparse.Namespace) -> None:
    """Print all registered schemes as a table, or with --json as JSON."""
    records = [build_scheme_record(scheme) for scheme in SCHEMES.values()]
    if arguments.json:
        print(format_json(records))
        return
    for record, scheme in zip(records, SCHEMES.values(), strict=True):
        named = {name: record[name] for name in ("summation", "suppression") if record[name]}
        fields = [f"{name} {','.join(rules.values())}" for name, rules in named.items()]
        fields += [f"pointwise {record['pointwise']}"] if record["pointwise"] else []
        print(f"{record['key']:24}{record['acts_on']:12}{'; '.join(fields) or '–'}")
        print(f"{'':24}{'; also '.join(each.text for each in scheme.references)}")


def build_scheme_record(scheme: Scheme) -> dict[str, Any]:
    """Return a scheme as plain data, as `normviz schemes --json` prints it."""
    named = {
        name: None if field is None else field.to_dict(scheme.axes)
        for name, field in (("summation", scheme.summation), ("suppression", scheme.suppression))
    }
    return {
        "key": scheme.key,
        "name": scheme.name,
        "acts_on": scheme.acts_on,
        **named,
        "pointwise": scheme.kind.function,
        "eps": scheme.eps,
        "gain": scheme.gain,
        "bias": scheme.bias,
        "threshold": scheme.threshold,
        "keeps": scheme.keeps,
        "weight": scheme.weight,
        "about": scheme.about,
        "reference": scheme.reference.text,
        "url": scheme.reference.url,
        "also": [{"reference": each.text, "url": each.url} for each in scheme.also],
    }
