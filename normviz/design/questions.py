"""Ready-made questions of the page on design, and their answers in a sentence."""

from dataclasses import dataclass

from normviz.core.schemes import SCHEMES
from normviz.core.text import sentence, spoken
from normviz.core.transformations import TRANSFORMATIONS
from normviz.design.reasons import does
from normviz.design.search import Demands, Found, found, is_answer
from normviz.design.wording import LAYER_WORDS
from normviz.ui.link import View

COMMON = ("batch", "layer", "instance", "group", "rms")
"""Keys of the best known schemes, which an answer names first."""


@dataclass(frozen=True)
class Question:
    """A ready-made question.

    Attributes:
        key: of the words around it in `normviz.ui.stories`.
        name: a change, as its button states it.
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
        is_first = self is QUESTIONS[0]  # it is asked where nothing is demanded
        asked = {key: "need" if key in self.need and not is_first else "either" for key in TRANSFORMATIONS}
        return asked | {"conditions": list(self.conditions), "pick": ""}


QUESTIONS = (
    Question("one-picture", "One picture gets brighter", need=("case-rescaling",)),
    Question("all-pictures", "All pictures get brighter", need=("dataset-rescaling",)),
    Question("colour", "A colour is added to all pictures", need=("dataset-recentering",)),
    Question("companions", "The batch holds other pictures", conditions=("single", "independent")),
    Question("weights", "All weights are doubled", need=("weight-matrix-rescaling",)),
    Question("one-channel", "The weights of one channel are doubled", need=("weight-vector-rescaling",)),
    Question("constant", "A constant is added to all weights", need=("weight-matrix-recentering",)),
)
"""In the order of their buttons; the first is asked where a link demands nothing."""


def find_question(demands: Demands) -> Question | None:
    """Return the ready-made question that is exactly these demands; None for demands of one's own."""
    asked = (demands.need, demands.without, demands.conditions)
    return next((each for each in QUESTIONS if (each.need, (), each.conditions) == asked), None)


def answer_words(demands: Demands) -> str:
    """Return which of the best known schemes meet the demands, in sentences.

    Example:
        >>> answer_words(Demands("conv", need=("case-rescaling",)))
        'Layer, Instance, Group and RMS norm do. Batch norm does not.'
        >>> answer_words(Demands("dense", need=("case-rescaling", "weight-vector-rescaling")))
        'Batch, Layer, Instance, Group and RMS norm do not.'
    """
    labels: dict[bool, list[str]] = {True: [], False: []}
    for key in COMMON:
        labels[is_answer(SCHEMES[key], demands)].append(SCHEMES[key].label)
    verbs = {True: ("does", "do"), False: ("does not", "do not")}
    return " ".join(
        f"{spoken(some, 'and')} norm {verbs[is_met][len(some) > 1]}." for is_met, some in labels.items() if some
    )


def count_words(demands: Demands, schemes: Found) -> str:
    """Return how many schemes of the layer meet the demands, in a sentence.

    Example:
        >>> asked = Demands("dense", need=("case-rescaling",))
        >>> count_words(asked, found(asked))
        '6 of 81 schemes on a dense layer ignore single training case re-scaling.'
    """
    everything = len(found(Demands(demands.layer, weights=demands.weights)))
    what = sentence(spoken(map(does, demands.each), "and"))
    return (
        f"{len(schemes):,} of {everything:,} schemes on a {LAYER_WORDS[demands.layer]} layer "
        f"{what[0].lower()}{what[1:]}."
    )
