"""The texts of all experiments: title, claims that they test, question, claim, explanation and rules."""

from dataclasses import dataclass

from normviz.core.rows import index_by_key
from normviz.describe.seeds import COMPARISON_NOTE, COMPARISON_RULES


@dataclass(frozen=True)
class ExperimentText:
    """The texts of an experiment, whose key is its name in links and on the command line.

    Attributes:
        claims: ids of the claims that it tests.
        claim: the claim in a sentence, with its source.
        why: the explanation of the verdict, in a sentence that holds for every setting.
        rules: the rules of the comparison; by default, learning rates are chosen on validation digits.
    """

    key: str
    title: str
    claims: tuple[str, ...]
    question: str
    claim: str
    why: str = ""
    rules: str = COMPARISON_RULES


EXPERIMENT_TEXTS: dict[str, ExperimentText] = index_by_key(
    ExperimentText(
        "batch-size", "Batch size", ("B13", "B16"), "Who needs large batches?",
        claim="Layer normalization is “robust to the batch-sizes”, batch normalization is not (Ba et al. 2016, "
        "section 6.6).",
        why="Batch norm’s mean and variance over few examples are noisy. Layer norm averages within each example, so "
        "its mean and variance do not depend on the batch.",
    ),
    ExperimentText(
        "leak", "A leak in the batch", ("B10",), "Can labels leak through the batch?",
        claim="Batch norm’s “intra-batch communication among samples … leaks information” (He et al. 2020, section "
        "3.3).",
        why="The mean of a one-class group shows its class. Batch norm subtracts it from the blank picture’s "
        "activations, too, so that the network can read the class off them.",
    ),
    ExperimentText(
        "repair", "Repair at test time", (), "Can new statistics repair batch norm?",
        claim="Batch norm adapts to other pictures “by modulating the statistics” (Li et al. 2016, arXiv 1603.04779, "
        "abstract).",
    ),
    ExperimentText(
        "fine-tuning", "Fine-tuning with batch norm", ("B03", "B10", "L03"),
        "Does frozen batch norm still change?",
        claim="Even frozen, batch norm “keeps running estimates of its computed mean and variance” (PyTorch’s "
        "documentation).",
    ),
    ExperimentText(
        "learning-rate", "Learning rate", ("B09",), "Which schemes allow high learning rates?",
        claim="“Batch Normalization enables higher learning rates” (Ioffe & Szegedy 2015, section 3.3).",
        why="Too large a step makes weights large. With batch norm, doubling a unit’s weights leaves its output "
        "unchanged and halves its gradient, so that later steps change the weights less.",
    ),
    ExperimentText(
        "start", "Initial gain and bias", ("F04",), "Do initial gain γ and bias β matter?",
        claim="“Does the initialization of the gains and bias matter?” (notes on Ba et al. 2016).",
        why="A normalized x̂ rarely exceeds 2. So with β\u00a0≤\u00a0−2γ, γ\u00a0x̂\u00a0+\u00a0β is almost always "
        "negative: the ReLU gives 0 and passes no gradient.",
    ),
    ExperimentText(
        "dropout", "Batch norm and dropout", ("B17",), "Does batch norm replace dropout?",
        claim="Batch norm acts as a regularizer, “in some cases eliminating the need for Dropout” (Ioffe & Szegedy "
        "2015, abstract).",
        why="Dropout hides different units in each step, which hinders learning by heart.",
    ),
    ExperimentText(
        "weight-decay", "Weight decay and batch norm", ("B11",), "Does weight decay help with batch norm?",
        claim="Weight decay “has no regularizing effect when combined with normalization” (van Laarhoven 2017, "
        "abstract).",
        rules="Numbers are means over the seeds with 95% intervals (Student's t), of losses and gaps those "
        "of their logarithms. Twins start from the same weights and see the same batches. A gap is the largest of "
        "all steps, and “equal” holds for every seed. A difference is called clear where Holm's correction for "
        "the number of schemes rejects chance at 5%. Nothing is chosen: all twins have the learning rate of the "
        "setting, or the one that follows from it.",
    ),
    ExperimentText(
        "smoothing", "Learned smoothing", ("D03", "D04"), "Does a larger ε lower the test error?",
        claim="“Smoothing the normalizers and adding a sparse L1 regularizer improves the accuracy” "
        "(notes on Ba et al. 2016).",
        why="The idea, not tested here: where the variance is small, values are mostly noise, which a small ε "
        "amplifies.",
    ),
    ExperimentText(
        "convolution", "Convolutions", ("L09", "B16"), "Are units at the image border rarely on?",
        claim="In convolutional networks, layer norm does worse than batch norm because hidden units near the image’s "
        "border “are rarely turned on” (Ba et al. 2016, section 6.7).",
    ),
    ExperimentText(
        "recurrent", "Recurrent networks", ("B15", "L02"), "Does batch norm work on sequences?",
        claim="“Batch normalization cannot be used on time sequence data” (Rico’s Nerd Cluster 2022, notes on layer "
        "norm).",
    ),
    ExperimentText(
        "placement", "Placement", (), "Does post norm need warm-up?",
        claim="With post norm “the learning rate warm-up stage is essential”, with pre norm it is not (Xiong et al. "
        "2020, section 3).",
        rules=f"{COMPARISON_RULES} Xiong et al. (2020) is arXiv 2002.04745.",
    ),
    ExperimentText(
        "gan", "Modes of a GAN", ("S03",), "Does spectral norm lessen mode collapse?",
        claim="GAN generators “fail to learn the multimodal structure” of data; spectral norm helps (Miyato et al. "
        "2018, section 1).",
        why="The likely reason: points move to where the discriminator’s output is highest. Spectral norm bounds the "
        "slope of this output, so that no single mode attracts all points.",
        rules=f"{COMPARISON_NOTE} Learning rates are chosen for each scheme by 1000 samples of its generators; "
        "1000 other samples of the same generators are counted. Networks without normalization and with spectral "
        "norm have no γ.",
    ),
    ExperimentText(
        "speed", "Speed", ("R02",), "Is RMS norm faster than layer norm?",
        claim="RMS norm is “computationally simpler and thus more efficient than” layer norm (Zhang & Sennrich "
        "2019, abstract).",
        why="RMS norm subtracts no mean, which saves operations.",
        rules="Ratios are geometric means over the rounds with 95% intervals (Student's t on logarithms). In each "
        "round everything is timed several times in turn, and the shortest times count, so that both schemes meet the "
        "same load. A difference is called clear where Holm's correction for the number of comparisons rejects chance "
        "at 5%.",
    ),
)  # fmt: skip
