"""Texts of a case of Table 1, one scheme and one change, on the page."""

from typing import NamedTuple

from normviz.core.fields import FULL
from normviz.core.registry import Scheme
from normviz.core.text import capitalize_first, typeset
from normviz.core.theory import name_spanned_axes
from normviz.core.transformations import PAPER_TABLE, Transformation
from normviz.describe.aims import name_field
from normviz.describe.aims import summarize_scheme as menu_hint
from normviz.topics.table1.table import Cell
from normviz.train.problem import MAX_PICTURED
from normviz.train.setting import Setting


class ChangeWords(NamedTuple):
    """Texts about one transformation of Table 1, with names in braces that `fill_change_words` replaces.

    In braces: sign, "× 5" or "+ pattern"; delta, δ; batch, size of a batch; unit, of `UNIT_WORDS`; added, "pattern".

    Attributes:
        title: the transformation, for the title of a cell.
        short: the transformation in two or three words, for the head of a column below its sign.
        twin: a sentence on the twin.
    """

    title: str
    short: str
    twin: str


CHANGE_WORDS = {
    "weight-matrix-rescaling": ChangeWords(
        "all weights {sign}", "all {unit}s", "The twin starts with all its weights {delta} times as large.",
    ),
    "weight-matrix-recentering": ChangeWords(
        "all {unit}s' weights + one {added}", "the same for all {unit}s",
        "The twin starts with the same random pattern, τ, added to the weights of every {unit}.",
    ),
    "weight-vector-rescaling": ChangeWords(
        "the weights of one {unit} {sign}", "one {unit}",
        "The twin starts with the weights of one {unit} (one output of the layer) {delta} times as large.",
    ),
    "dataset-rescaling": ChangeWords(
        "all images {sign}", "all images", "The twin sees all images {delta} times as bright.",
    ),
    "dataset-recentering": ChangeWords(
        "all images + one {added}", "the same for all images",
        "The twin sees all images with the same random {added}, τ, added.",
    ),
    "case-rescaling": ChangeWords(
        "one image of each batch {sign}", "one image",
        "In every batch of {batch}, the twin sees one image {delta} times as bright.",
    ),
}  # fmt: skip
"""Texts by the key of a transformation."""

UNIT_WORDS = {"dense": "neuron", "conv": "channel"}
"""Word for an output of a layer, by the kind of the layer."""


def shorten_scheme_name(scheme: Scheme) -> str:
    """Return a scheme's name with "norm" for "normalization", such as "batch norm"."""
    return scheme.name.replace("no normalization", "no norm").replace("normalization", "norm")


def format_change_sign(change: Transformation, setting: Setting) -> str:
    """Return a transformation as a sign: "× 5" for a factor, "+ pattern" or "+ constant" for a shift."""
    return (
        f"+\u00a0{_name_added_shift(change, setting)}" if change.factor is None else f"×\u00a0{typeset(setting.delta)}"
    )


def fill_change_words(text: str, change: Transformation, setting: Setting) -> str:
    """Return a text of `CHANGE_WORDS` with the transformation's and setting's values for its names in braces."""
    return text.format(
        sign=format_change_sign(change, setting), delta=typeset(setting.delta), batch=setting.batch,
        unit=UNIT_WORDS[setting.layer], added=_name_added_shift(change, setting),
    )  # fmt: skip


def _name_added_shift(change: Transformation, setting: Setting) -> str:
    """Return the word for the shift τ: "constant" on the images of a convolution, else "pattern"."""
    return "constant" if change.on == "data" and setting.layer == "conv" else "pattern"


def format_case_title(scheme: Scheme, change: Transformation, setting: Setting) -> str:
    """Return the title of a cell from its scheme and transformation, such as "Batch norm, all images × 5"."""
    return (
        f"{capitalize_first(shorten_scheme_name(scheme))}, "
        f"{fill_change_words(CHANGE_WORDS[change.key].title, change, setting)}"
    )


def describe_table_row(scheme: Scheme, setting: Setting) -> str:
    """Return a few words on what a scheme does, such as "normalizes each image over its neurons"."""
    if scheme.is_baseline:
        return "to compare with"
    if scheme.key == "weight":
        return f"divides each {UNIT_WORDS[setting.layer]}'s weights by their length"
    if scheme.activation_part is None:
        return f"weights {menu_hint(scheme)}"
    if scheme.suppression is None or scheme.suppression.windowed_axes:
        return menu_hint(scheme)
    field = scheme.fields[-1]
    unit = UNIT_WORDS[setting.layer]
    noun = name_field(field, scheme.axes, setting.shapes[0]).replace("channel", unit)
    is_example = (noun, unit) == ("example", "neuron")
    over = " over the batch" if field.rules[0] == FULL else " over its neurons" if is_example else ""
    return f"normalizes each {noun.replace('example', 'image')}{over}" if noun else ""


def describe_case_twin(change: Transformation, setting: Setting, has_matched_rate: bool) -> str:
    """Return sentences on how the twin, the transformed copy of the network, and its learning rate differ from it."""
    said = fill_change_words(CHANGE_WORDS[change.key].twin, change, setting)
    factor = change.compute_rate_factor(setting.optimizer, setting.delta)
    if change.weight_factor is not None and factor != 1.0:
        rate = f"is × {typeset(factor)}, to match" if has_matched_rate else "stays the same"
        whose = "Their" if change.weight_factor == () else f"That {UNIT_WORDS[setting.layer]}'s"
        said += f" {whose} learning rate {rate}."
    return f"{said} Everything else is identical."


def explain_picture_squares(change: Transformation, setting: Setting) -> str:
    """Return a sentence on what each square of `render_change_picture` shows: a neuron, a filter or an image."""
    if change.on == "data":
        return f"Shown: {min(MAX_PICTURED, setting.batch)} of the {setting.batch} images in a batch."
    if setting.layer == "conv":
        return "Each square is the filter of one channel."
    return "Each square is one neuron: its weights, one for each pixel."


def format_hint(scheme: Scheme, change: Transformation, setting: Setting) -> str:
    """Return a hint for a cell: how the scheme normalizes, and a question about the transformation."""
    if scheme.is_baseline:
        return "Nothing is subtracted, and nothing divides. Is there anything that could cancel the change?"
    about = scheme.about.partition(":")[0] + "." if scheme.weight is not None else scheme.about  # behind it the answer
    does = f" {describe_table_row(scheme, setting)}." if scheme.key in PAPER_TABLE else f": {about}"
    how = f"{capitalize_first(shorten_scheme_name(scheme))}{does}"
    if scheme.activation_part is None:
        return f"{how} Does the change pass through that division?"
    if change.factor is None:
        return f"{how} Is the same number added to all the values that are averaged together?"
    return f"{how} Are all the values that are averaged together multiplied by the same number?"


def describe_case_answer(cell: Cell, scheme: Scheme, change: Transformation) -> str:
    """Return a sentence that says whether the scheme is invariant to the transformation, in Markdown."""
    name = "A network without normalization" if scheme.is_baseline else capitalize_first(shorten_scheme_name(scheme))
    if cell.degenerate or cell.unchanged:
        return "δ = 1 changes nothing." if cell.unchanged else f"{name} has nothing to compare here."
    if cell.fades:
        return f"{name} is **invariant** to {change.name} at ε = 0 only."
    if cell.predicted and cell.parted_by_rate:
        return (
            f"The outputs of {shorten_scheme_name(scheme)} are **invariant** to {change.name}, but the learning rates "
            "differ."
        )
    return f"{name} is {'**invariant**' if cell.predicted else '**not invariant**'} to this change."


def explain_case_answer(cell: Cell, scheme: Scheme, change: Transformation, setting: Setting) -> str:
    """Return a sentence or two on why the scheme is invariant to the transformation, or why it is not."""
    if cell.degenerate or cell.unchanged:
        return cell.degenerate or "So nothing can be told."
    if cell.fades:
        return f"ε = {typeset(setting.eps)} is added under the root and is not re-scaled, so part of the change stays."
    if cell.predicted and cell.parted_by_rate:
        return "The twin's weights are of another size, so steps of the same size change its outputs by another amount."
    uncommon = not scheme.is_general_form or scheme.weight is not None
    if uncommon or any(field.windowed_axes for field in scheme.fields):
        return capitalize_first(cell.reason.removeprefix(f"{capitalize_first(change.name)}: "))
    if scheme.activation_part is None:
        return _explain_weight_scheme(cell, scheme, change, UNIT_WORDS[setting.layer])
    return _explain_activation_scheme(cell, scheme, change, setting)


def _explain_weight_scheme(cell: Cell, scheme: Scheme, change: Transformation, unit: str) -> str:
    if change.on == "data":
        if cell.predicted:
            return cell.reason
        return (
            f"{capitalize_first(shorten_scheme_name(scheme))} changes only the weights, so a change of the images "
            "passes through."
        )
    if cell.predicted:
        return f"Each {unit}'s weights are divided by their own size. This cancels the factor before any image is seen."
    if scheme.summation is None:
        return "No mean is subtracted from the weights, so the added pattern stays."
    return (
        f"The pattern differs from weight to weight, so subtracting the mean of a {unit}'s weights does not remove it."
    )


def _explain_activation_scheme(cell: Cell, scheme: Scheme, change: Transformation, setting: Setting) -> str:
    name, shape = capitalize_first(shorten_scheme_name(scheme)), setting.shapes[0]
    centred = scheme.summation is not None and scheme.summation == scheme.suppression
    divisor = "standard deviation" if centred else "root mean square"
    if change.factor is None:
        added = _describe_added_number(change, setting)
        if scheme.summation is None:
            return f"{added} Nothing subtracts a mean, so this number stays."
        if cell.predicted:
            return f"{added} All values that share a mean get the same number, so subtracting the mean cancels it."
        over = name_spanned_axes((scheme.summation,), scheme.axes, change.shift[setting.layer], shape)
        return f"{added} {name} averages over {_name_tensor_axes(over, setting)}, so the number does not cancel."
    if scheme.suppression is None:
        return "Nothing divides, so the factor stays."
    if cell.predicted:
        same = f"All values that share a {divisor} are multiplied by the same factor."
        return f"{same} Dividing by that {divisor} cancels the factor."
    over = name_spanned_axes(scheme.fields, scheme.axes, change.factor, shape)
    return (
        f"{name} averages over {_name_tensor_axes(over, setting)}, but only one of them is changed. "
        f"The {divisor} that all of them share changes, so the others change too."
    )


def _describe_added_number(change: Transformation, setting: Setting) -> str:
    """Return a sentence on what a shift τ adds to the pre-activations, and along which axes it is the same."""
    unit, image = UNIT_WORDS[setting.layer], "image" if setting.layer == "dense" else "image and position"
    if change.on == "weights":
        return f"The sum of every {unit} grows by τ·x: the same number for all {unit}s, another one for each {image}."
    return f"The sum of a {unit} grows by w·τ: the same number for every {image}, another one for each {unit}."


def _name_tensor_axes(words: str, setting: Setting) -> str:
    """Replace "channels" and "examples" in words about axes by the page's words, such as "neurons"."""
    return words.replace("channels", f"{UNIT_WORDS[setting.layer]}s").replace("examples", "images of a batch")
