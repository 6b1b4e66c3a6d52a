"""The one error that a user can cause: bad input, told in one line."""


class InvalidInput(ValueError):  # noqa: N818 - the name says what it is
    """What was wrong, what came, and what would be right; pages and the command line show it as it is."""
