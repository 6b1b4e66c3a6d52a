"""Claims that experiments decide."""

from typing import Any

from normviz.topics.claims.claim import Claim, ExperimentCheck
from normviz.topics.experiments.catalogue import get_experiment
from normviz.topics.experiments.reports import VerdictKey


def make_experiment_claim(id: str, sources: str, expected: VerdictKey, *keys: str, **texts: Any) -> Claim:
    """Return a claim that the experiments `keys` decide; `expected` and `texts` are fields of `Claim`.

    It links to the first experiment, whose claim is its text unless `texts` has `says`.
    """
    texts = {"says": get_experiment(keys[0]).claim} | texts
    return Claim(id, tuple(sources.split()), expected, ExperimentCheck(keys), f"/experiments?show={keys[0]}", **texts)


CLAIMS: tuple[Claim, ...] = (
    make_experiment_claim("L02", "000", "holds-if", "recurrent",
        short="Layer norm prevents exploding and vanishing gradients in recurrent networks.",
        says="“The normalization terms make a layer invariant to any re-scaling of its summed inputs, which prevents "
        "both exploding and vanishing gradients” in recurrent networks. The paper claims less: it “results in much "
        "more stable hidden-to-hidden dynamics” (Ba et al. 2016, section 3.1).",
        condition="The scale of the weights cancels, the gain does not. With a small γ the gradient vanishes over the "
        "steps, and with batch norm and a large γ it explodes."),
    make_experiment_claim("L09", "000 004", "holds-if", "convolution",
        short="In convolutional networks layer norm helps less, because of units near the border.",
        says="In convolutional networks layer norm helps less than batch norm. Units near the border are rarely turned "
        "on, so their statistics are unlike those of the rest of the layer.",
        condition="It does help less, but border units are on often. At the best learning rate of each, batch "
        "norm has the lowest training loss, then layer norm, then no normalization. With layer norm 49% of the border "
        "units are on, and 50% of the others. Mirror padding makes border units more like inner ones, and layer "
        "norm’s loss is still higher."),
    make_experiment_claim("B09", "004", "holds", "learning-rate",
        short="Batch norm allows higher learning rates.",
        condition="Its largest learning rate is 7 to 10 times higher. With layer norm it is about twice as high."),
    make_experiment_claim("B11", "004", "holds", "weight-decay",
        short="With normalization, weight decay does not regularize; it sets the learning rate.",
        condition="It only shrinks weights whose length the output ignores."),
    make_experiment_claim("B13", "001 000 004", "holds", "batch-size",
        says="Batch norm needs a large batch: the statistics of few examples are noisy.",
        condition="Batches of 2 and 4 clearly raise its test error. All batch sizes train on equally many digits, and "
        "each scheme has its best learning rate. At batches of 64 and 128 batch norm has a lower test error than layer "
        "norm."),
    make_experiment_claim("B15", "002", "holds-if", "recurrent",
        short="Batch norm cannot be used on time sequences.",
        says="“Batch normalization cannot be used on time sequence data”, because its channel axis is “the time "
        "dimension” there.",
        condition="It can, if each step has statistics of its own. In the layout (B, C, T) it learns sequences, too. "
        "Its errors rise with one statistic for all steps, and on sequences longer than those of the training."),
    make_experiment_claim("B16", "000 004", "holds-if", "batch-size", "convolution",
        short="Batch norm beats layer norm in convolutional networks, but needs a large batch.",
        says="Batch norm outperforms layer norm in convolutional networks; in dense ones, on digits whose pixels are "
        "in no order, layer norm is robust to the size of the batch, and batch norm is not.",
        condition="In convolutional networks their test errors do not clearly differ. There batch norm has the lower "
        "training loss. In dense networks it is so."),
    make_experiment_claim("B17", "004", "wrong", "dropout",
        short="With batch norm, dropout can be removed or reduced.",
        condition="With partly wrong labels, dropout still helps beside batch norm. Where training labels are drawn at "
        "random, dropout lowers the test error, most of it at a rate of 10%. With correct labels dropout helps our "
        "small networks neither with batch norm nor without. The paper's networks were far larger and learned "
        "ImageNet."),
    make_experiment_claim("S03", "001", "holds-if", "gan",
        short="Spectral norm makes the training of a GAN stable.",
        condition="It depends on the discriminator's steps. With three for each step of the generator, spectral norm "
        "covers 8.0 of 8 modes and no normalization 2.2, after 2000 steps. With one there is no clear gain, unless the "
        "discriminator reads points scaled by 5: spectral norm bounds its slope."),
    make_experiment_claim("R02", "001", "holds-if", "speed",
        short="RMS norm is faster than layer norm.",
        condition="Only unoptimized code is; PyTorch's optimized layer norm is faster. RMS norm takes fewer "
        "operations, so its forward pass is faster where nothing is fused into one step. On a CPU PyTorch fuses layer "
        "norm and not RMS norm."),
    make_experiment_claim("D03", "000", "holds-if", "smoothing",
        says="The learned ε of divisive normalization decreases with the depth of the layer.",
        condition="It does at two of three learning rates. At 0.003 and 0.01 of Adam it decreases with depth, at 0.03 "
        "it increases."),
    make_experiment_claim("D04", "000", "holds-if", "smoothing",
        says="A smoothing term and an L1 term improve the accuracy of all three schemes.",
        condition="Both together lower the test error of batch norm alone. It falls by 1.2 points over 24 networks. "
        "With layer norm and divisive norm no change is clear. A fixed ε = 1 alone lowers that of batch norm and "
        "divisive norm by 1.5 points each. After twice the steps, this is clear for batch norm only. The learning rate "
        "and the first ε are chosen on validation digits."),
    make_experiment_claim("F04", "000", "holds-if", "start",
        short="The initial values of γ and β matter.",
        condition="Some hurt; none is clearly better than the usual. These are γ = 1, β = 0.",
        asked=True),
)  # fmt: skip
"""The claims of this topic, in the order of the page."""
