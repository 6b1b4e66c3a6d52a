"""The known mistakes of homework on normalization: key, name, description and remedy."""

from typing import NamedTuple

from normviz.core.rows import index_by_key


class Mistake(NamedTuple):
    """A known mistake: its key, its name, a sentence that describes it, and its remedy."""

    key: str
    name: str
    description: str
    remedy: str


MISTAKES: dict[str, Mistake] = index_by_key(
    Mistake(
        "eps-outside-root",
        "ε outside the root",
        "It divides by √σ² + ε, where √(σ² + ε) is meant.",
        "Add ε to the variance before the root is taken.",
    ),
    Mistake(
        "no-root",
        "no square root",
        "It divides by the variance, not by its root.",
        "Take the square root of σ² + ε.",
    ),
    Mistake(
        "sample-variance",
        "m − 1 in the variance",
        "It divides by m − 1 where m is meant, as for an estimate from a sample.",
        "Divide by m, as the papers and the layers do in training.",
    ),
    Mistake("no-eps", "no ε", "ε is left out.", "Add ε to the variance before the root is taken."),
    Mistake(
        "other-eps",
        "another ε",
        "The formula is right, but its ε is not the given one.",
        "Use the ε of the inputs; a framework's own differs, and what is given may be σ² or σ.",
    ),
    Mistake(
        "wrong-axis",
        "the wrong axes",
        "The statistics, or the sums of a gradient, run over other axes than the scheme's.",
        "Count again which axes are averaged over, and which are kept.",
    ),
    Mistake(
        "channels-last",
        "read as channels last",
        "The array is read as if its last axis were the channels, which come before the positions.",
        "Move the channels to the end first, or average over the other axes.",
    ),
    Mistake(
        "channels-first",
        "read as channels first",
        "The array is read as if its second axis were the channels, which are the last.",
        "Keep the last axis, and average over those before it.",
    ),
    Mistake(
        "group-size",
        "G taken as the size of a group",
        "Each group has G channels, where there are G groups.",
        "Give each group C/G channels.",
    ),
    Mistake(
        "interleaved-groups",
        "every G-th channel in a group",
        "A group takes every G-th channel, where it is a block of neighbours: an effect of reshape with the axes of "
        "groups and channels exchanged.",
        "Reshape the channels to (G, C/G), in this order.",
    ),
    Mistake("no-centring", "not centred", "The mean is not subtracted.", "Subtract the mean first."),
    Mistake("centred", "centred", "The mean is subtracted, and this scheme has none.", "Leave the mean in."),
    Mistake(
        "mean-square",
        "E[x²] in place of the variance",
        "It divides by the root mean square of x instead of x − μ.",
        "Subtract the mean before you square.",
    ),
    Mistake("no-division", "not divided", "Nothing divides.", "Divide by √(σ² + ε)."),
    Mistake(
        "no-scale",
        "the root mean square for the length",
        "Each weight vector is divided by its root mean square, where its length is meant.",
        "Divide by the root of the sum of squares.",
    ),
    Mistake(
        "running-statistics",
        "running averages for the batch's statistics",
        "It is normalized by running averages: a blend of their first values and this batch's statistics.",
        "In training, use the batch's own statistics; the running averages are kept for inference.",
    ),
    Mistake(
        "other-statistics",
        "other statistics than the batch's",
        "Every channel has a factor and a shift (in dx only a factor) that are not this batch's.",
        "Compute the mean and the variance of each channel from x itself.",
    ),
    Mistake(
        "absolute-deviation",
        "mean absolute deviation in place of σ",
        "It averages absolute values, where squares are meant.",
        "Average squares, add ε, and take the square root.",
    ),
    Mistake(
        "min-max",
        "min–max scaling",
        "It divides by the largest value minus the smallest one, not by σ.",
        "Divide by √(σ² + ε).",
    ),
    Mistake(
        "x-itself", "x itself", "It is x unchanged, or in dx dout unchanged.", "Normalize x first, then apply γ and β."
    ),
    Mistake(
        "gamma-plus-one",
        "1 + γ in place of γ",
        "It multiplies by 1 + γ, as layers do that store γ − 1.",
        "Multiply by γ itself.",
    ),
    Mistake(
        "swapped-gamma",
        "γ of two channels exchanged",
        "Two channels have each other's γ.",
        "Keep γ in the order of the channels.",
    ),
    Mistake("forgot-gamma", "γ forgotten", "γ is missing.", "Multiply by γ; in the gradient, dout by γ first."),
    Mistake("forgot-beta", "β forgotten", "β is missing.", "Add β at the end."),
    Mistake(
        "affine-order", "β before γ", "β is added before γ multiplies: γ (x̂ + β).", "Multiply by γ first, then add β."
    ),
    Mistake(
        "mean-path",
        "the path through the mean forgotten",
        "The gradient through μ is missing.",
        "Every x changes the mean too: subtract the average of ∂L/∂v.",
    ),
    Mistake(
        "variance-path",
        "the path through the variance forgotten",
        "The gradient through σ is missing.",
        "Every x changes what divides too: add ∂L/∂σ² · ∂σ²/∂x.",
    ),
    Mistake(
        "constant-statistics",
        "statistics taken as constants",
        "Both μ and σ are treated as constants: the gradient of inference.",
        "Every x changes the mean and the variance: add both paths.",
    ),
    Mistake(
        "diagonal-gradient",
        "the diagonal of the Jacobian alone",
        "Only ∂x̂ᵢ/∂xᵢ is counted; the other units' terms through μ and σ are missing.",
        "Sum ∂L/∂x̂ⱼ · ∂x̂ⱼ/∂xᵢ over all j that share a statistic with i.",
    ),
    Mistake(
        "sum-instead-of-mean",
        "a sum where a mean is meant",
        "A path through μ or σ lacks its 1/m.",
        "The derivative of a mean by one of its m elements is 1/m.",
    ),
    Mistake(
        "factor-of-two",
        "a factor of two in the path through the variance",
        "The path through the variance is half, or twice, of what it is.",
        "Squares bring a 2, the root a ½.",
    ),
    Mistake(
        "sign",
        "a sign",
        "A path through μ or σ, or all of it, has the other sign.",
        "Both paths take away from the direct one.",
    ),
    Mistake(
        "x-for-xhat",
        "x in place of x̂",
        "dout is multiplied with x, x − μ or out, where x̂ is meant.",
        "Keep x̂ from the forward pass, before γ and β.",
    ),
    Mistake(
        "mean-instead-of-sum",
        "a mean where a sum is meant",
        "It is averaged over the elements, or the examples.",
        "Sum: every element that a parameter reaches adds its part.",
    ),
    Mistake(
        "missing-sum",
        "a sum over too few axes",
        "It is summed over some of the axes only.",
        "Sum over every axis along which the parameter is broadcast: examples and positions.",
    ),
    Mistake("swapped", "dγ and dβ exchanged", "This is the other parameter's gradient.", "Exchange dgamma and dbeta."),
    Mistake(
        "transposed",
        "axes exchanged",
        "The numbers are right, with the axes in another order.",
        "Give it back in the order of the input's axes.",
    ),
    Mistake(
        "wrong-shape",
        "another shape",
        "The array has another shape than what it is the answer to.",
        "out and dx have the shape of x, dgamma and dbeta those of gamma and beta.",
    ),
    Mistake(
        "precision",
        "right to the digits of float32 only",
        "The arrays are float64, and only as many digits as float32 has are right.",
        "Compute all of it in float64.",
    ),
)
"""Every mistake by key."""
