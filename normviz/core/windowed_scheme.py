"""Divisive norm along the axes over which another scheme averages: with wide windows it is that scheme."""

from normviz.core.errors import InvalidInput
from normviz.core.fields import FULL, Field, Rule
from normviz.core.registry import SCHEMES, Scheme


def make_windowed_scheme(scheme: Scheme, radius: int) -> Scheme:
    """Return divisive norm with windows along the axes over which another scheme averages.

    From a radius of n − 1 on, n the longest of these axes, it is the other scheme.

    Raises:
        InvalidInput: a scheme without a field.

    Source: Ren et al. 2017, Table 2: the ranges under which the general form is batch norm or layer norm.
    """
    if scheme.field is None:
        raise InvalidInput(f"{scheme.name} has no field that windows could be widened to.")
    field = Field(tuple(Rule("window", radius) if rule == FULL else rule for rule in scheme.field.rules))
    return SCHEMES["divisive"].with_fields(field, field)
