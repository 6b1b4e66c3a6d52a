"""Words for the problems of a model's normalizations: what is wrong, its effect, and what to do."""

from dataclasses import dataclass

from normviz.core.fields import AXIS_NAMES

GAP_LIMIT = 0.25
"""A gap between training and inference above this share of the output's deviation is a problem."""


@dataclass(frozen=True)
class Problem:
    """Kind of problem of a model: its title, effect and advice, with code and a thread on it.

    Attributes:
        title: the problem in at most six words.
        effect: its consequence, in a sentence.
        advice: what to change, in a sentence.
        code: the change in lines of Python; "LAYER" stands for the layer.
        thread: the address of a public thread on this problem.
        is_mistake: False for mere advice.
    """

    title: str
    effect: str
    advice: str
    code: str
    thread: str
    is_mistake: bool = True


PROBLEMS = {
    "wrong-axis": Problem(
        "averages the wrong axis",
        "Where positions are averaged, every token depends on later ones.",
        "Average over the channels, as the last axis. Keep the learned scale.",
        "channels = -1  # the last axis\n"
        "mean_square = x.pow(2).mean(channels, keepdim=True)\n"
        "y = weight * x * torch.rsqrt(mean_square + eps)",
        "https://github.com/huggingface/diffusers/issues/11387",
    ),
    "normalized-shape": Problem(
        "wrong axes normalized",
        "Layer norm is usually meant to normalize the channels of each position alone.",
        "Pass the number of channels as normalized_shape, and move the channels to the last axis first.",
        "nn.LayerNorm(num_channels)",
        "https://github.com/pytorch/pytorch/issues/71465",
    ),
    "all-but-first": Problem(
        "mixes tokens",
        "In a language model, no token may depend on later ones.",
        "Pass the last axis alone as normalized_shape, unless tokens are meant to be mixed.",
        "F.layer_norm(x, x.shape[-1:])",
        "https://github.com/Qualcomm-AI-research/geometric-algebra-transformer/pull/8",
    ),
    "moving-statistics": Problem(
        "frozen, but averages change",
        "Inference uses these averages, so the layer changes anyway.",
        "Call eval() on it after every model.train(). If its averages are wrong, too, run update_bn() first.",
        "model.train()\nLAYER.eval()  # after every model.train()",
        "https://github.com/pytorch/pytorch/issues/86590",
    ),
    "small-groups": Problem(
        "too few numbers",
        "Most or all information in its input is lost.",
        "Use fewer groups, or normalize before the positions are pooled.",
        "nn.GroupNorm(1, num_channels)",
        "https://github.com/pytorch/pytorch/issues/19250",
    ),
    "small-batch": Problem(
        "batch too small",
        "Such averages are noisy, so an output depends on which examples share its batch.",
        "Use larger batches or group norm. Drop a last batch of one example.",
        "DataLoader(data, batch_size=32, drop_last=True)",
        "https://github.com/pytorch/pytorch/issues/4534",
    ),
    "half-precision": Problem(
        "fails in half precision",
        "In 16 bits, squares of large numbers can overflow, and a small ε can become 0.",
        "Compute its statistics in float32, with an ε that the type can hold.",
        "LAYER.float()(x.float()).to(x.dtype)",
        "https://github.com/pytorch/pytorch/pull/133085",
    ),
    "train-eval-gap": Problem(
        "eval() changes outputs a lot",
        "Accuracy at inference can be far below that in training.",
        "Measure the running averages again, on data like those at inference, or train longer.",
        "torch.optim.swa_utils.update_bn(loader, model)",
        "https://github.com/pytorch/vision/issues/2079",
    ),
    "folding": Problem(
        "tip: can be made faster",
        "Inference is faster with fewer layers.",
        "After training, merge each of these batch norms into the layer before it.",
        "torch.nn.utils.fuse_conv_bn_eval(conv, bn)",
        "https://github.com/pytorch/pytorch/issues/104593",
        is_mistake=False,
    ),
}
"""The kinds of problems by the keys of findings."""


def name_axis(letter: str, layout: str) -> str:
    """Return the name of the axis with this letter in a layout such as NHTC.

    >>> [name_axis(letter, "NHTC") for letter in "NHTC"]
    ['batch', 'heads', 'positions', 'channels']
    """
    if "T" in layout and letter in "TH":
        return {"T": "positions", "H": "heads"}[letter]
    return AXIS_NAMES[letter].length if letter in AXIS_NAMES else letter
