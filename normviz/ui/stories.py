"""What every page is about, in words: its question, why it matters, what to try first, and what to take away.

The order is that of the menu, and the way from page to page.
"""

from dataclasses import dataclass

from normviz.core.schemes import BA, SCHEMES, Reference


@dataclass(frozen=True)
class See:
    """A way to where an idea goes on.

    Attributes:
        words: what is there.
        page: the script's name of that page.
    """

    words: str
    page: str


@dataclass(frozen=True)
class Story:
    """One page. What it says holds whatever the page is set to.

    Attributes:
        page: the name of its script in `pages/`.
        title: its name in the menu and in the browser's tab.
        section: under which word of the menu it stands; "" for one that stands there by itself, before all others.
        question: what it answers, its heading.
        why: why that matters, in a sentence.
        first: what to try first.
        takeaway: the answer.
        see: where its ideas go on, beside the next page.
    """

    page: str
    title: str
    section: str
    question: str
    why: str
    first: str
    takeaway: str
    see: tuple[See, ...]


def _source(reference: Reference) -> str:
    return f"[{reference.text}]({reference.url})"


STORIES = (
    Story(
        page="tensor_lab",
        title="Tensor lab",
        section="",
        question="What does normalization do to a tensor?",
        why="Batch, layer, instance and group norm are one formula: they differ in which elements share a mean and a "
        "variance.",
        first="Click an element: what lights up with it shares its statistics. Then pick another scheme.",
        takeaway="Tell a scheme by its field: along an averaged axis all indices share one statistic, along a kept "
        "axis each index has its own.",
        see=(
            See("What if the weights are normalized?", "weights"),
            See("What does a scheme not notice?", "invariance"),
        ),
    ),
    Story(
        page="compare",
        title="Compare",
        section="Schemes",
        question="Which elements share a statistic?",
        why="That decides whether an example's result depends on the others of its batch, and whether a batch of one "
        "works.",
        first="Click an element: its field lights up in every cube. Then exchange a scheme for another.",
        takeaway="Where a field spans the examples, as in batch norm, an example's result depends on the others; where "
        "it does not, the same can be computed in training and in inference.",
        see=(
            See("One scheme, step by step", "tensor_lab"),
            See("What a batch does to batch norm", "running"),
        ),
    ),
    Story(
        page="identities",
        title="Identities",
        section="Schemes",
        question="Which normalizations are the same?",
        why="Many names stand for few computations. Where two coincide, x̂ is the same, while γ and β may still differ "
        "in shape.",
        first="Ask **Why?** of a claim, or use a shape on which another one holds.",
        takeaway="Schemes of one form are the same where their fields are. Along an axis of length 1, averaged and "
        "kept are one and the same.",
        see=(
            See("A scheme's field, in the cube", "tensor_lab"),
            See("Batch and layer norm as the widest windows", "divisive"),
        ),
    ),
    Story(
        page="readings",
        title="Which layer norm?",
        section="Schemes",
        question="Which layer norm is it?",
        why="Papers, frameworks and blogs call three different computations layer norm; on the output of "
        "a convolution they give different numbers.",
        first="Click an element and compare the three fields. Then pick an example below, and see how its numbers "
        "give away which reading it was.",
        takeaway="Ask what is averaged, not what it is called: over H, W, C, as the paper's definition says; over C "
        "alone, as Keras by default and transformers do; or over H, W of each channel, which is instance norm.",
        see=(
            See("Schemes of your choice side by side", "compare"),
            See("What does each not notice?", "invariance"),
        ),
    ),
    Story(
        page="why",
        title="Why normalize",
        section="Purpose",
        question="Why normalize at all?",
        why="Inputs of a common scale are easier to learn from, and in a deep network every layer is the input of the "
        "next, and moves while all layers learn.",
        first="Go from **Centred** to **Scaled per feature** to **Whitened**: the second is what batch norm does of "
        "the third.",
        takeaway="Batch norm is the affordable part of whitening: one feature at a time, by the statistics of a "
        "mini-batch. It works because the gradient knows of it: what it takes out, a step cannot put back.",
        see=(
            See("What does the gradient look like?", "gradients"),
            See("What a batch does to batch norm", "running"),
        ),
    ),
    Story(
        page="invariance",
        title="Invariances (Table 1)",
        section="Purpose",
        question="What does normalization not notice?",
        why="Weights or data of an unlucky scale can spoil training, unless normalization absorbs them: "
        f"[Table 1]({BA.url}) of {BA.text}, predicted by one rule, measured on a forward pass, and shown by training "
        "twin networks.",
        first="Press **Predict first** and guess before you look; a click on a cell gives the reason.",
        takeaway="At ε = 0 a scheme that divides by a statistic absorbs a factor that is the same all over each of its "
        "fields, and one that centres absorbs a shift that is the same all over each field it centres. ε lets factors "
        "through, little by little; shifts it leaves alone.",
        see=(
            See("What ε does to contrast", "divisive"),
            See("Weight norm and spectral norm at work", "weights"),
            See("A scheme's field, in the cube", "tensor_lab"),
        ),
    ),
    Story(
        page="design",
        title="Design",
        section="Purpose",
        question="Which scheme absorbs what I need?",
        why="Whoever designs a layer knows what it should not notice, and looks for the scheme. One rule over fields "
        "answers that for all schemes at once: which there are, and what none of them can.",
        first="Ask for **single training case re-scaling**, then also for **dataset re-centring**: on a dense layer "
        "nothing is left, and the fields say why.",
        takeaway="With nothing in front, what a scheme of the map absorbs is decided by its fields alone. The "
        "thousands of a convolutional layer have only 13 sets of invariances, and none of them has all six.",
        see=(
            See("The six changes, measured and trained", "invariance"),
            See("A scheme's field, in the cube", "tensor_lab"),
        ),
    ),
    Story(
        page="gradients",
        title="Gradients",
        section="Learning",
        question="What does normalization do to a gradient?",
        why="A normalizer takes directions out of the gradient, that of a shift where it centres, that of a factor "
        "where it divides; whoever writes the backward pass by hand easily forgets one of them.",
        first="Pick **RMS**, then **Layer**: the formula gains a mean, and the gradient sums to 0. Then go through it "
        "**Step by step**.",
        takeaway="What the forward pass does not notice, the backward pass does not move: each field loses its mean "
        "where it is centred, and its part along x̂ where it is scaled, as far as ε allows.",
        see=(
            See("Which changes are absorbed?", "invariance"),
            See("Why the weights only grow", "weights"),
        ),
    ),
    Story(
        page="geometry",
        title="Geometry",
        section="Learning",
        question="How far does a step of learning go?",
        why="Not how far the weights move counts but how much the predictions change; where a layer absorbs the length "
        "of its weights, a step of the same size changes less the longer they are.",
        first="In **Distance**, change **KL of the border**: the regions change with it. Then see in **Effective "
        "rate** what weight decay does.",
        takeaway="Where a layer absorbs the length of its weights, the learning rate that counts is that over their "
        "squared length: SGD lowers it by itself, as it lengthens them, and weight decay, which shortens them, raises "
        "it.",
        see=(
            See("Weight norm: length and direction apart", "weights"),
            See("The same factor, in Table 1", "invariance"),
        ),
    ),
    Story(
        page="running",
        title="Training and inference",
        section="Learning",
        question="Why does batch norm behave differently at test time?",
        why="In training a layer is normalized by the mean and variance of each mini-batch, afterwards by a **running "
        "average** of them: where the two differ, so does the network.",
        first="Switch to **Inference**: the same digits come out otherwise. Then press **Play**.",
        takeaway="In training an example's result depends on the others of its batch; in inference on running "
        "averages, and these must fit the data that come.",
        see=(
            See("Which schemes depend on the batch?", "compare"),
            See("What is averaged, in the cube", "tensor_lab"),
        ),
    ),
    Story(
        page="experiments",
        title="Experiments",
        section="Learning",
        question="Does it train better?",
        why="Higher learning rates, small batches, deep and recurrent networks: what the papers promise, tried out on "
        "small real data, over several seeds, with a verdict only where the difference is larger than the noise.",
        first="Press **Run** and watch the curves; then change a setting on the left and run it again.",
        takeaway="A single run proves nothing: look at the band over the seeds, and at what the verdict depends on.",
        see=(
            See("Which changes are absorbed?", "invariance"),
            See("Why normalize at all?", "why"),
        ),
    ),
    Story(
        page="weights",
        title="Weights",
        section="More",
        question="What do weight normalizations do to a weight matrix?",
        why="They change the weights before any data come: the same for every batch, in training and in inference.",
        first="Press **Play**, then choose another normalization above the picture.",
        takeaway="Weight norm learns length and direction apart, spectral norm divides by the most that the matrix "
        "stretches a vector, weight standardization also centres the weights of every unit.",
        see=(
            See("Which changes of the weights are absorbed?", "invariance"),
            See("A weight tensor, in the cube", "tensor_lab"),
        ),
    ),
    Story(
        page="divisive",
        title="Divisive",
        section="More",
        question="What does divisive normalization do to contrast?",
        why="Neurons in the brain divide by what their neighbours do; with wide windows that becomes batch or layer "
        f"norm. :small[{_source(SCHEMES['divisive'].reference)}]",
        first="Move **ε** up: contrast fades, and first where it was weak.",
        takeaway="Where the mean square of a window is small beside ε, x̂ grows with the contrast; where it is large, "
        "contrast is normalized away. Windows that hold whole axes are batch, layer or instance norm.",
        see=(
            See("Which factors does ε let through?", "invariance"),
            See("Which schemes are the same?", "identities"),
        ),
    ),
    Story(
        page="claims",
        title="The sources, checked",
        section="More",
        question="Is it true what is said of normalization?",
        why="Papers, tutorials and blogs disagree with each other, and are wrong in places: here every claim stands "
        "beside a measurement that supports, limits or refutes it, made by this app.",
        first="Show the **Wrong** ones, open one, and go to where the app shows it.",
        takeaway="A claim is worth the measurement beside it: ask what was measured, how often, and under which "
        "condition it holds.",
        see=(
            See("Which normalizations are the same?", "identities"),
            See("Does it train better?", "experiments"),
        ),
    ),
)
"""All pages."""


def following(story: Story) -> Story:
    """The page after this one; after the last the first."""
    return STORIES[(STORIES.index(story) + 1) % len(STORIES)]


def previous(story: Story) -> Story:
    """The page before this one; before the first the last."""
    return STORIES[STORIES.index(story) - 1]
