"""A scheme as plain data, for jobs and links: its key and its fields, from which the rest follows."""

from dataclasses import dataclass
from functools import lru_cache

from normviz.core.fields import Field
from normviz.core.registry import SCHEMES, Scheme


@dataclass(frozen=True)
class SchemeSpec:
    """A scheme as plain data that can be stored and sent: its key and its fields as text.

    Attributes:
        key: of the registered scheme that it is, or that of the user's fields.
        summation, suppression: its fields as text; None where it has none.
        weight: key of the scheme of weights in front of it, or None.
        alpha: α of a pointwise scheme, or None.
    """

    key: str
    summation: str | None
    suppression: str | None
    weight: str | None = None
    alpha: float | None = None

    @classmethod
    def of(cls, scheme: Scheme) -> "SchemeSpec":
        """Return the plain data of a scheme, whatever its fields and its weight scheme are."""
        a, b = (None if field is None else str(field) for field in (scheme.summation, scheme.suppression))
        return cls(scheme.key, a, b, scheme.weight, scheme.parameters.get("alpha"))

    @property
    def scheme(self) -> Scheme:
        """The scheme that these data describe."""
        return _make_scheme(self)


@lru_cache(maxsize=4096)
def _make_scheme(row: SchemeSpec) -> Scheme:
    """Return the scheme that plain data describe. Cached: an experiment needs its schemes again and again."""
    named = SCHEMES[row.key]
    texts = (row.summation, row.suppression)
    made = named.with_fields(*(None if text is None else Field.parse(text, named.axes) for text in texts))
    made = made.with_parameters(alpha=row.alpha)
    return made if row.weight == made.weight else made.with_weight_scheme(row.weight)
