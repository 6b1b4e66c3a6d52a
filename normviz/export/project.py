"""The project in a citation, and in the command that installs it."""

import normviz

REPOSITORY_URL = "https://github.com/normviz/normviz"
"""The address of the project; docs/citing.md and pyproject.toml name it, too."""


def format_citation() -> str:
    """Format the citation of the project in a line, as docs/citing.md has it.

    >>> format_citation().startswith("The normviz contributors (2026). normviz: see and test normalization")
    True
    """
    return (
        f"The normviz contributors (2026). normviz: see and test normalization in deep learning, "
        f"version {normviz.__version__}. {REPOSITORY_URL}"
    )


def format_requirement(extras: str = "") -> str:
    """Format what pip installs: the project with the extras, from its repository, since PyPI does not have it yet.

    >>> format_requirement("train")
    'normviz[train] @ git+https://github.com/normviz/normviz'
    """
    return f"normviz{f'[{extras}]' if extras else ''} @ git+{REPOSITORY_URL}"
