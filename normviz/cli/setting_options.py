"""The options of commands that set declared values."""

import argparse

from normviz.core.settings import Declaration, DependentValue, get_declarations
from normviz.core.text import join_words


def add_setting_options(parser: argparse.ArgumentParser, settings_class: type) -> None:
    """Add an option for every declared setting of a dataclass."""
    for name, declared in get_declarations(settings_class).items():
        option, help_text = f"--{name.replace('_', '-')}", format_option_help(declared)
        parser.add_argument(option, default=None, help=help_text, **declared.make_argparse_kwargs())


def format_option_help(declared: Declaration) -> str:
    """Return the help text of a setting for argparse: label and help, limits, default."""
    label = join_words(declared.label.table.values()) if isinstance(declared.label, DependentValue) else declared.label
    label = label if isinstance(label, str) else ""  # a label that depends on a view is for pages
    about = ". ".join(text.rstrip(".") for text in (label, declared.help) if text)
    parts = (about, declared.format_limits(), _describe_default(declared))
    return "; ".join(part for part in parts if part).replace("%", "%%")


def _describe_default(declared: Declaration) -> str:
    """Return "by default 32 for dense, 8 for conv"; "" for a value that may be left open."""
    default, write = declared.default, declared.format_for_link
    if isinstance(default, DependentValue):
        return "by default " + ", ".join(f"{write(value)} for {key}" for key, value in default.table.items())
    return "" if default is None else f"by default {write(default)}"
