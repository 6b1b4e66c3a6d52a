"""Ready-made questions of the page "Find a scheme", and their answers in a sentence."""

from dataclasses import dataclass
from functools import lru_cache

from normviz.core.registry import SCHEMES
from normviz.core.text import capitalize_first, join_words
from normviz.core.transformations import TRANSFORMATIONS
from normviz.topics.design.demands import Demands
from normviz.topics.design.reasons import format_demand
from normviz.topics.design.search import FoundSchemes, find_schemes, is_answer
from normviz.topics.design.wording import LAYER_WORDS
from normviz.ui.link import View

BEST_KNOWN = ("batch", "layer", "instance", "group", "rms")
"""Keys of the best known schemes, which an answer names first."""


@dataclass(frozen=True)
class ReadyQuestion:
    """Ready-made question about schemes, with the demands that it stands for.

    Attributes:
        key: key of its texts in `normviz.ui.page_texts`.
        name: label of its button: a change.
        need, conditions: keys of the transformations to ignore, and of the conditions to meet.
        because: reason that some schemes ignore the change and others do not.
    """

    key: str
    name: str
    need: tuple[str, ...] = ()
    conditions: tuple[str, ...] = ()
    because: str = ""

    @property
    def page_values(self) -> View:
        """The page values that ask exactly this question, by URL parameter."""
        is_first = self is QUESTIONS[0]  # the default where nothing is demanded
        asked = {key: "need" if key in self.need and not is_first else "either" for key in TRANSFORMATIONS}
        return asked | {"conditions": list(self.conditions), "pick": ""}


QUESTIONS = (
    ReadyQuestion(
        "one-picture", "One picture gets brighter", need=("case-rescaling",),
        because="A scheme ignores the brightness of one picture if it averages inside one picture only. Batch "
        "norm divides all pictures of the batch by the same number, so a brighter one makes the other one darker.",
    ),
    ReadyQuestion(
        "all-pictures", "All pictures get brighter", need=("dataset-rescaling",),
        because="A factor of all pictures is a factor of every field. Every scheme that divides by a "
        "statistic ignores it at ε = 0.",
    ),
    ReadyQuestion(
        "colour", "A colour is added to all pictures", need=("dataset-recentering",),
        because="A scheme ignores the added colour if it subtracts a mean from each channel by itself. Layer "
        "norm subtracts one mean from all channels, so the colour stays.",
    ),
    ReadyQuestion(
        "companions", "The other pictures are left out", conditions=("single", "independent"),
        because="A scheme ignores the other pictures if it averages inside one picture only. Batch norm "
        "averages over all pictures of the batch, so it needs running averages at test time.",
    ),
    ReadyQuestion(
        "weights", "All weights are doubled", need=("weight-matrix-rescaling",),
        because="Twice the weights give twice the pre-activations. Every scheme that divides by a statistic "
        "ignores this at ε = 0.",
    ),
    ReadyQuestion(
        "one-channel", "The weights of one channel are doubled", need=("weight-vector-rescaling",),
        because="A scheme ignores the factor if it divides each channel by a statistic of that channel alone, "
        "as batch and instance norm do.",
    ),
    ReadyQuestion(
        "constant", "A constant is added to all weights", need=("weight-matrix-recentering",),
        because="The constant adds the same number to all channels of a position, and another number at "
        "other positions. A scheme ignores it if it subtracts the mean over the channels of each position.",
    ),
)  # fmt: skip
"""Questions in the order of their buttons; the first is the default."""


def find_question(demands: Demands) -> ReadyQuestion | None:
    """Return the ready-made question with exactly these demands; None if there is none."""
    asked = (demands.need, demands.without, demands.conditions)
    return next((each for each in QUESTIONS if (each.need, (), each.conditions) == asked), None)


@lru_cache(maxsize=64)
def describe_known_answers(demands: Demands) -> str:
    """Describe in sentences which of the best-known schemes meet the demands.

    Example:
        >>> describe_known_answers(Demands("conv", need=("case-rescaling",)))
        'Layer, Instance, Group and RMS norm do. Batch norm does not.'
        >>> describe_known_answers(Demands("dense", need=("case-rescaling", "weight-vector-rescaling")))
        'Batch, Layer, Instance, Group and RMS norm do not.'
    """
    labels: dict[bool, list[str]] = {True: [], False: []}
    for key in BEST_KNOWN:
        labels[is_answer(SCHEMES[key], demands)].append(SCHEMES[key].label)
    verbs = {True: ("does", "do"), False: ("does not", "do not")}
    return " ".join(
        f"{join_words(some, 'and')} norm {verbs[is_met][len(some) > 1]}." for is_met, some in labels.items() if some
    )


def describe_answer_count(demands: Demands, schemes: FoundSchemes) -> str:
    """Describe in a sentence how many schemes of the demands' layer meet the demands.

    Example:
        >>> asked = Demands("dense", need=("case-rescaling",))
        >>> describe_answer_count(asked, find_schemes(asked))
        '6 of 81 schemes on a dense layer ignore single training case re-scaling.'
    """
    everything = len(find_schemes(Demands(demands.layer, weights=demands.weights)))
    what = capitalize_first(join_words(map(format_demand, demands.all_demands), "and"))
    return (
        f"{len(schemes):,} of {everything:,} schemes on a {LAYER_WORDS[demands.layer]} layer "
        f"{what[0].lower()}{what[1:]}."
    )
