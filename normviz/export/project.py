"""The project in a citation, and in the command that installs it."""

import normviz

REPOSITORY_URL = "https://github.com/normviz/normviz"
"""The address of the project; docs/citing.md and pyproject.toml name it, too."""


def format_citation() -> str:
    """Return the citation of the project in one line, as in docs/citing.md.

    >>> format_citation().startswith("The normviz contributors (2026). normviz: see and test normalization")
    True
    """
    return (
        f"The normviz contributors (2026). normviz: see and test normalization in deep learning, "
        f"version {normviz.__version__}. {REPOSITORY_URL}"
    )


def format_requirement(extras: str = "") -> str:
    """Return the argument of `pip install` for the project with these extras, from its repository.

    >>> format_requirement("train")
    'normviz[train] @ git+https://github.com/normviz/normviz'
    """
    return f"normviz{f'[{extras}]' if extras else ''} @ git+{REPOSITORY_URL}"
