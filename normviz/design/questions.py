"""Ready-made questions of the page on design, and the demands of a view in a sentence."""

from dataclasses import dataclass

from normviz.core.text import spoken
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.reasons import does
from normviz.design.search import Demands, Found, found
from normviz.design.wording import LAYER_WORDS
from normviz.ui.link import View


@dataclass(frozen=True)
class Question:
    """A ready-made question.

    Attributes:
        key: in widget keys.
        name: the words on its button.
        need: keys of the transformations that a scheme has to ignore.
        conditions: keys of `design.conditions.CONDITIONS` that it has to meet.
    """

    key: str
    name: str
    need: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()

    @property
    def values(self) -> View:
        """The values of the page that ask exactly this question, by their names in the link."""
        asked = {key: "need" if key in self.need else "either" for key in TRANSFORMATIONS}
        return asked | {"conditions": list(self.conditions), "pick": "", "page": 1}

    def is_asked(self, demands: Demands) -> bool:
        """Return True if the demands are exactly those of this question."""
        return (demands.need, demands.without, demands.conditions) == (self.need, (), self.conditions)


QUESTIONS = (
    Question("single", "Works for a batch of one example", conditions=("single", "independent")),
    Question("scale", "Ignores the scale of one example", need=("case-rescaling",)),
    Question("shift", "Ignores a shift of all the data", need=("dataset-recentering",)),
)
"""In the order of their buttons."""


def answers_words(demands: Demands, schemes: Found) -> str:
    """Return how many schemes of the layer meet the demands, in a sentence without its full stop.

    Example:
        >>> asked = Demands("dense", need=("case-rescaling",))
        >>> answers_words(asked, found(asked))
        '6 of 81 schemes on a dense layer ignore single training case re-scaling'
    """
    layer = LAYER_WORDS[demands.layer]
    if not demands.each:
        return f"{len(schemes):,} schemes on a {layer} layer. What should yours ignore?"
    everything = len(found(Demands(demands.layer, weights=demands.weights)))
    return f"{len(schemes):,} of {everything:,} schemes on a {layer} layer {spoken(map(does, demands.each), 'and')}"
