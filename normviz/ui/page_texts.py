"""The texts of every page: question, motivation, first step, takeaway.

Their order is that of the menu and of the links from page to page.
"""

from normviz.core.registry import SALIMANS_REFERENCE, SCHEMES, Reference
from normviz.describe.interface_words import DEFAULT_LANGUAGE, get_words
from normviz.ui.page_text import PageText, PanelText, RelatedPage

TEACHING_PAGES = {"lessons": ("compare", "claims"), "class": ("invariance",)}
"""The pages whose texts are translated, with their related pages."""


def build_teaching_page_text(page: str, language: str = DEFAULT_LANGUAGE) -> PageText:
    """Build the texts of one of `TEACHING_PAGES` from the words of a language."""
    words, labels = get_words(f"page-{page}", language), get_words("page", language)
    return PageText(
        page=page,
        title=words["title"],
        section="Teach",
        question=words["question"],
        why=words["why"],
        takeaway=words["takeaway"],
        takeaway_label=labels["takeaway"],
        next_label=labels["next"],
        see=tuple(RelatedPage(words[f"see-{each}"], each) for each in TEACHING_PAGES[page]),
    )


def translate_page_text(page_text: PageText, language: str) -> PageText:
    """Return the texts of a page in a language; unchanged if it is not one of `TEACHING_PAGES`."""
    return build_teaching_page_text(page_text.page, language) if page_text.page in TEACHING_PAGES else page_text


def _format_source_link(reference: Reference) -> str:
    return f"[{reference.text}]({reference.url})"


PAGE_TEXTS = (
    PageText(
        page="tensor_lab",
        title="Tensor lab",
        section="Start",
        question="What does normalization do to a tensor?",
        why="Each normalization averages over different axes. Choose one, then press **Watch it happen**.",
        takeaway="Tell a scheme by its field: along an averaged axis all indices share one statistic, along a kept "
        "axis each index has its own.",
        see=(
            RelatedPage("What if the weights are normalized?", "weights"),
            RelatedPage("Which changes does normalization cancel?", "invariance"),
        ),
    ),
    PageText(
        page="compare",
        title="Compare",
        section="Start",
        question="Which elements share a mean and variance?",
        why="**Blue**: the elements that share a mean and variance with the orange one.",
        first="Click another element, and compare the blue elements of all cubes.",
        takeaway="Batch norm averages over examples, so the output for one example depends on the others. Layer, "
        "instance and group norm treat each example alone, so they compute the same in training and inference.",
        see=(
            RelatedPage("One scheme, step by step", "tensor_lab"),
            RelatedPage("What a batch does to batch norm", "running"),
        ),
    ),
    PageText(
        page="identities",
        title="Same or different?",
        section="Start",
        question="Which normalizations are the same?",
        why="**Blue**: the elements that share a mean and variance with the orange one.",
        first="Guess whether the two are the same.",
        takeaway="Ask which axes are averaged, not what the layer is called. Two layers that subtract and divide over "
        "the same elements give the same x̂.",
        see=(
            RelatedPage("The averaged elements in the cube", "tensor_lab"),
            RelatedPage("What ε does to contrast", "divisive"),
        ),
        panels={
            "variants": PanelText(
                question="Which layer norm do you mean?",
                why="Papers and frameworks call three normalizations “layer norm”. They average over different axes.",
                first="Click an element. Blue: the elements that share its mean and variance.",
                takeaway="Name the axes: layer norm over H, W, C, over C, or over H, W.",
            ),
            "own": PanelText(
                question="Are your two normalizations the same?",
                why="Two schemes are compared by their fields (the elements that share a mean and variance) and on "
                "random tensors.",
                first="Choose a scheme on each side, or type its axes.",
                takeaway="One counter-example shows that two schemes differ. With the same fields they are the same.",
            ),
            "detect": PanelText(
                question="Which normalization computed this output?",
                why="The input and the output of a layer often tell: we fit every known normalization to the numbers.",
                first="Choose an example, or upload your own arrays.",
                takeaway="With enough numbers, input and output show the averaged axes, and often ε, γ and β.",
            ),
        },
    ),
    PageText(
        page="why",
        title="Why normalize",
        section="Why it works",
        question="Why normalize at all?",
        why="We train the same deep network eight times with batch norm and eight times without, from the same first "
        "weights.",
        first="Set a low **learning rate**, then a high one, and see which networks still learn.",
        takeaway="Batch norm makes training robust: a deep network learns from more first weights and at more learning "
        "rates. At the best rate of each, the final accuracy may differ little.",
        see=(RelatedPage("What a batch does to batch norm", "running"),),
        panels={
            "saturation": PanelText(
                question="What goes wrong inside a deep network?",
                why="Each layer receives what the layers before it compute, and that changes while they learn. Where a "
                "sigmoid is flat, the gradient vanishes.",
                first="Move **Hidden layer** from the first to the last one and compare the two bands.",
                takeaway="Batch norm gives every unit inputs of mean β and standard deviation γ, whatever the layers "
                "before it do. Far fewer units saturate, unless the learned γ and β drive them there.",
            ),
            "whitening": PanelText(
                question="What does batch norm keep of whitening?",
                why="LeCun et al. (1998) recommend inputs of mean 0 and variance 1 without correlation. Whitening "
                "every layer would give that, at a high cost.",
                first="Under **Transformation**, go from **Centred** to **Scaled per feature** to **Whitened**.",
                takeaway="Batch norm simplifies whitening twice: one feature at a time, and with the statistics of a "
                "mini-batch. The correlation remains.",
            ),
            "outside": PanelText(
                question="Why must the gradient include the normalization?",
                why="If a step ignores that the mean depends on a bias, the normalization undoes the step.",
                first="Raise the **learning rate**: the bias grows faster, and the loss stays the same.",
                takeaway="Batch norm works because we backpropagate through the mean and the variance. A step then has "
                "no part that the normalization would cancel.",
            ),
            "identity": PanelText(
                question="What are γ and β for?",
                why="Normalizing removes the mean and the variance of a layer, and sometimes the layer needs them.",
                first="Move the slider to 1: γ and β restore the input.",
                takeaway="With γ and β the layer can represent what it could without normalization. They start at 1 "
                "and 0; extreme initial values can prevent learning.",
            ),
            "history": PanelText(
                question="Which normalizations are there?",
                why="Most later schemes change one thing about batch norm: the elements that share a mean and "
                "variance.",
                first="Click the name of a scheme to see it in the cube.",
                takeaway="Compare a new scheme with batch norm by the elements that share its statistics, and by what "
                "divides.",
            ),
        },
    ),
    PageText(
        page="gradients",
        title="Backward pass",
        section="Why it works",
        question="What is the gradient through normalization?",
        why="One x also changes the mean and the variance that all x share. So its gradient is a sum of three parts.",
        first="Press **Play**: the gradient returns from the loss to x, arrow by arrow.",
        takeaway="If the output does not change with a shift or a scale of the input, the gradient has no component "
        "in that direction. For ε > 0 this holds for shifts, and nearly for scales.",
        see=(
            RelatedPage("Which changes does normalization cancel?", "invariance"),
            RelatedPage("Why the weights only grow", "weights"),
        ),
        panels={
            "formula": PanelText(
                question="What is the backward pass of each scheme?",
                why="The formula follows from the averaged elements. We check it by central differences, and with "
                "PyTorch if you like.",
                first="Choose **RMS**, then **Layer**: layer norm also subtracts a mean.",
                takeaway="A scheme that subtracts a mean also subtracts the mean of the gradient. A scheme that "
                "divides also subtracts the part of the gradient along x̂.",
            ),
            "jacobian": PanelText(
                question="Which inputs change which outputs?",
                why="The Jacobian holds ∂x̂/∂x for every pair of elements. Elements that share no statistic do not "
                "affect each other.",
                first="Choose **Layer**, then **Instance**: more and smaller blocks.",
                takeaway="Each block is a field. The gradient ∂L/∂x needs the whole block, not only its diagonal.",
            ),
            "answer": PanelText(
                question="Is your backward pass correct?",
                why="Compute the outputs and gradients of this task with your own code. We compare them and name "
                "common mistakes.",
                first="Download the inputs, compute **out** and **dx**, and upload them.",
                takeaway="Check a backward pass by numbers: most mistakes leave the shapes right.",
            ),
        },
    ),
    PageText(
        page="geometry",
        title="Step size",
        section="Why it works",
        question="What does layer norm keep of an example?",
        why="An example is an arrow. Layer norm flattens it onto a plane, then fixes its length. Only the direction is "
        "left.",
        first="Press **Next stage** to fix the length.",
        takeaway="Layer norm removes the mean of x, and at a small ε the length of v = x − μ. The longer v is, the "
        "smaller its gradient: v learns more slowly. With more than three channels the circle is a sphere.",
        see=(RelatedPage("Length and direction of the weights", "weights"),),
        panels={
            "rate": PanelText(
                question="Why do longer weights learn more slowly?",
                why="Batch norm makes a layer invariant to the length of its weights W. The same step then turns "
                "longer weights by a smaller angle.",
                first="Raise the **learning rate**: W grows faster, and its effective learning rate falls faster.",
                takeaway="If a layer is invariant to the scale of its weights W, its effective learning rate is "
                "η/‖W‖². SGD makes W longer and so lowers this rate.",
            ),
        },
    ),
    PageText(
        page="invariance",
        title="Table 1",
        section="Invariance",
        question="Which changes does normalization cancel?",
        why="We train a network and its **twin**. Before training, we change one thing for the twin. If normalization "
        "cancels the change, both have the same loss at every step.",
        takeaway="Dividing by a statistic cancels a factor that all values behind the statistic have in common. "
        "Subtracting a mean cancels a shift that they have in common. A larger ε weakens the first only.",
        see=(
            RelatedPage("What ε does to contrast", "divisive"),
            RelatedPage("Weight norm and spectral norm at work", "weights"),
            RelatedPage("The averaged elements in the cube", "tensor_lab"),
        ),
    ),
    PageText(
        page="design",
        title="Find a scheme",
        section="Invariance",
        question="Which normalization ignores the changes you choose?",
        why="We list the schemes that ignore them, or explain why no scheme can.",
        takeaway="At ε = 0 the averaged axes decide which changes a scheme ignores. Without a weight scheme in front, "
        "the thousands of schemes on a convolutional layer have only 13 different sets of invariances. No set "
        "contains all six changes.",
        see=(
            RelatedPage("The six changes, measured and trained", "invariance"),
            RelatedPage("The averaged elements in the cube", "tensor_lab"),
        ),
        panels={
            "one-picture": PanelText(
                question="Which normalizations ignore a picture’s brightness?",
                why="A batch holds this picture and another one. This one becomes twice as bright.",
            ),
            "all-pictures": PanelText(
                question="Which normalizations ignore the brightness of all pictures?",
                why="A batch holds this picture and another one. Both become twice as bright.",
            ),
            "colour": PanelText(
                question="Which normalizations ignore a colour added to all pictures?",
                why="The same orange is added to every pixel of both pictures in the batch.",
            ),
            "companions": PanelText(
                question="Which normalizations ignore the other pictures of a batch?",
                why="A batch holds this picture and another one. Then the other one leaves the batch.",
            ),
            "weights": PanelText(
                question="Which normalizations ignore a factor of all weights?",
                why="The pictures pass through a layer that copies them. Then all weights of that layer are doubled.",
            ),
            "one-channel": PanelText(
                question="Which normalizations ignore a factor of one channel's weights?",
                why="The pictures pass through a layer that copies them. Then the weights of the red channel are "
                "doubled.",
            ),
            "constant": PanelText(
                question="Which normalizations ignore a constant added to all weights?",
                why="The pictures pass through a layer that copies them. Then 0.25 is added to each of its weights.",
            ),
        },
    ),
    PageText(
        page="running",
        title="Training vs. inference",
        section="Training",
        question="Why does batch norm differ in inference?",
        why="In training, batch norm uses the mean and variance of the mini-batch. In inference a digit may come "
        "alone, so batch norm uses **running averages** over past mini-batches.",
        first="Switch to **Inference** and watch the outputs x̂ of the same digits.",
        takeaway="In training, the output for one example depends on the other examples of its batch. In inference it "
        "depends on the running averages, which must fit the new data.",
        see=(
            RelatedPage("Which schemes depend on the batch?", "compare"),
            RelatedPage("What is averaged, in the cube", "tensor_lab"),
        ),
        panels={
            "wrong": PanelText(
                question="What happens if batch norm uses the wrong statistics?",
                why="The running averages may be missing, out of date or wrong for the data. Or the layer is still in "
                "training mode.",
                first="Change **Batch size** and **Momentum**, and see which mistakes cost more.",
                takeaway="Call eval() before testing, and check that the running averages have converged and fit the "
                "test data.",
            ),
            "companions": PanelText(
                question="Does the output depend on the other examples?",
                why="We put one test digit into many mini-batches in training mode. Only the other digits change. x̂ is "
                "its normalized value at one unit.",
                first="Reduce the **Batch size**: with batch norm the ticks move further apart.",
                takeaway="With batch norm the output for one example depends on its mini-batch. Layer, instance and "
                "group norm use the example alone.",
            ),
        },
    ),
    PageText(
        page="experiments",
        title="Experiments",
        section="Training",
        question="Does it train better?",
        why="",
        takeaway="A single run proves nothing. Look at the interval over the seeds, and at what the verdict depends "
        "on.",
        see=(
            RelatedPage("Which changes does normalization cancel?", "invariance"),
            RelatedPage("Why normalize at all?", "why"),
        ),
    ),
    PageText(
        page="model",
        title="Your model",
        section="Training",
        question="Do the normalizations in your model have a problem?",
        why="We run a PyTorch model on one batch, in training and in inference mode, and look for common mistakes.",
        first="Both examples have planted mistakes. Select a row to see the fix, or take **your own model**.",
        takeaway="Check three things in every model: which axes are averaged, whether the rest of a batch changes an "
        "output, and whether training and inference agree.",
        see=(
            RelatedPage("Why training and inference differ", "running"),
            RelatedPage("Name a layer from two arrays", "identities"),
        ),
    ),
    PageText(
        page="weights",
        title="Weight normalization",
        section="Reference",
        question="Does weight normalization train faster?",
        why="Weight norm writes weights as **w = g · v/‖v‖**, length times direction. Training with and "
        "without it has the same learning rate.",
        first="Set the **length of v** to the length of w. Is weight norm still faster?",
        takeaway="Weight norm learns the length and the direction of a weight vector separately. The longer v is, the "
        "less the same gradient turns it, and plain gradient steps only make v longer. In the paper "
        f"({_format_source_link(SALIMANS_REFERENCE)}) networks learned faster with it. Unlike in batch norm, no "
        "example depends on the others of its batch.",
        see=(
            RelatedPage("Which changes of the weights cancel?", "invariance"),
            RelatedPage("A weight tensor, in the cube", "tensor_lab"),
        ),
        panels={
            "spectral": PanelText(
                question="How far can a layer pull two inputs apart?",
                why="Spectral normalization sets a limit: it divides the weights by σ₁, the largest factor by which "
                "they stretch an input.",
                first="Press **Play**: the blue ellipse shrinks until it fits the circle.",
                takeaway="After spectral norm a dense layer pulls no two inputs further apart, and may map some "
                "together. A convolution can still stretch: a pixel is in several patches.",
            ),
        },
    ),
    PageText(
        page="divisive",
        title="Contrast",
        section="Reference",
        question="Why normalize a pixel by its neighbours?",
        why="To bring back details in shadow. Light scales a pixel and its neighbours alike, so dividing by "
        "their spread cancels it.",
        first="Raise **ε** to 0.001. Which half of the normalized picture fades?",
        takeaway="Where pixels differ from the mean nearby by much more than √ε, all regions get a similar contrast. "
        "Where they differ by much less, they stay faint. A small ε therefore brings faint details back. "
        f"Neurons of early vision divide in a similar way ({_format_source_link(SCHEMES['divisive'].reference)}). "
        "AlexNet divided across channels (local response normalization).",
        see=(
            RelatedPage("How does ε affect invariance?", "invariance"),
            RelatedPage("Which schemes are the same?", "identities"),
        ),
    ),
    PageText(
        page="claims",
        title="Claims, tested",
        section="Reference",
        question="Common claims about normalization, tested",
        why="Papers, tutorials and blogs disagree. We tested every claim that a test can decide. Click one to see "
        "its evidence.",
        takeaway="Judge a claim by its measurement: what was measured, how often, and under which condition it holds.",
        see=(
            RelatedPage("Which normalizations are the same?", "identities"),
            RelatedPage("Does it train better?", "experiments"),
        ),
    ),
    build_teaching_page_text("lessons"),
    build_teaching_page_text("class"),
)


def find_next_page(page_text: PageText) -> PageText:
    """Return the texts of the next page in the menu; after the last one the first."""
    return PAGE_TEXTS[(_find_place(page_text) + 1) % len(PAGE_TEXTS)]


def find_previous_page(page_text: PageText) -> PageText:
    """Return the texts of the previous page in the menu; before the first one the last."""
    return PAGE_TEXTS[_find_place(page_text) - 1]


def _find_place(page_text: PageText) -> int:
    return [each.page for each in PAGE_TEXTS].index(page_text.page)
