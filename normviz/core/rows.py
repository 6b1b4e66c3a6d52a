"""A scheme as plain data, as a job holds it: its key and its fields, from which the rest follows."""

from dataclasses import dataclass

from normviz.core.fields import Field
from normviz.core.schemes import SCHEMES, Scheme


@dataclass(frozen=True)
class Row:
    """A scheme as plain data: its key and its fields, from which the rest follows."""

    key: str
    summation: str | None
    suppression: str | None

    @classmethod
    def of(cls, scheme: Scheme) -> "Row":
        """The row of a scheme, whatever its fields are."""
        fields = (None if field is None else str(field) for field in (scheme.summation, scheme.suppression))
        return cls(scheme.key, *fields)

    @property
    def scheme(self) -> Scheme:
        """The scheme of this row."""
        named = SCHEMES[self.key]
        texts = (self.summation, self.suppression)
        return named.with_fields(*(None if text is None else Field.parse(text, named.axes) for text in texts))
