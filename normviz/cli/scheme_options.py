"""The options of commands that choose a scheme."""

import argparse

from normviz.core.errors import InvalidInput
from normviz.core.fields import Field
from normviz.core.registry import CUSTOM_SCHEME, SCHEMES, Scheme, get_scheme


def add_scheme_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that choose one scheme, its parameters and ε."""
    parser.add_argument("--scheme", required=True, metavar="KEY", help=", ".join(SCHEMES))
    parser.add_argument("--groups", type=int, metavar="G", help="number of groups")
    parser.add_argument("--radius", type=int, metavar="R", help="radius of the windows")
    parser.add_argument("--alpha", type=float, metavar="A", help="α of a pointwise scheme, above 0; its own by default")
    parser.add_argument("--eps", type=float, metavar="E", help="ε, from 0; the scheme's own by default")
    parser.add_argument(
        "--field", metavar="N=full,H=own,…", help="rules of the custom scheme: own, full, groups(G), window(R)"
    )


def make_scheme(key: str, arguments: argparse.Namespace) -> Scheme:
    """Build the scheme with this key, with the parameters and averaged axes that the options give."""
    scheme = get_scheme(key, arguments.groups, arguments.radius, getattr(arguments, "alpha", None))
    if not scheme.is_custom:
        return scheme
    if arguments.field is not None:
        field = Field.parse(arguments.field, scheme.axes)
        scheme = scheme.with_fields(field, field)
    return scheme.with_weight_scheme(getattr(arguments, "front", None))  # only table1 has this option


def make_schemes(arguments: argparse.Namespace) -> list[Scheme]:
    """Build the schemes of --schemes, and the custom one if options give its averaged axes or weight scheme."""
    keys = [key.strip() for key in arguments.schemes.split(",") if key.strip()]
    if (arguments.field, arguments.front) != (None, None) and CUSTOM_SCHEME.key not in keys:
        keys.append(CUSTOM_SCHEME.key)
    return [make_scheme(key, arguments) for key in keys]


def parse_scheme(arguments: argparse.Namespace) -> Scheme:
    """Build the scheme of --scheme. Raises InvalidInput for --field with any but the custom scheme."""
    scheme = make_scheme(arguments.scheme, arguments)
    if arguments.field is not None and not scheme.is_custom:
        raise InvalidInput(f"--field goes with --scheme custom; {scheme.name} has its own.")
    return scheme
