"""Outcomes of the experiment on convolutions, and the verdicts on the paper's order and explanation."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from normviz.core.registry import SCHEMES
from normviz.core.text import join_words, typeset
from normviz.describe.comparisons import Comparisons
from normviz.describe.seeds import (
    choose_learning_rate,
    compare_seed_by_seed,
    find_clear_signs,
    format_mean,
    format_mean_percent,
)
from normviz.topics.experiments.convolution_jobs import LAYER_COUNT, LEARNING_RATES, compute_border_distances
from normviz.topics.experiments.grid_outcome import MAX_LEARNED_ERROR, GridOutcome
from normviz.topics.experiments.reports import Verdict, VerdictKey, describe_extent, format_percent

VERDICT_SCHEMES = ("none", "batch", "layer")

RARE_SHARE = 0.5
"""Units at the border are rarely on if the share that is on is less than this part of the share inside."""


class Outcome(GridOutcome):
    """The result of one scheme and padding: losses, errors and border statistics at its best learning rate."""

    @property
    def best_rate_index(self) -> int:
        """The position of the learning rate with the lowest mean validation loss."""
        return choose_learning_rate(self.result["validation"].mean(0))

    @property
    def losses_by_rate(self) -> np.ndarray:
        """The training losses averaged over all steps, shape (rates, seeds)."""
        return np.average(self.result["losses"], axis=0, weights=np.diff([0, *self.result["measured"]]))

    @property
    def mean_losses(self) -> np.ndarray:
        """The training losses at the best rate, averaged over all steps, shape (seeds,)."""
        return self.losses_by_rate[self.best_rate_index]

    @property
    def test_errors(self) -> np.ndarray:
        """The final test error rates at the best learning rate, shape (seeds,)."""
        return self.result["test"][self.best_rate_index]

    def get_statistic(self, name: str) -> np.ndarray:
        """Return the share of active units ("on") or the "deviation" in the last layer, (seeds, border distances)."""
        return self.result[f"{name}-{LAYER_COUNT}"][self.best_rate_index]

    def average_border_and_inside(self, name: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the means (seeds,) of `get_statistic` at the border and at all other positions."""
        values = self.get_statistic(name)
        counts = np.bincount(compute_border_distances(2 * values.shape[1]).ravel())  # all sides are even
        return values[:, 0], np.average(values[:, 1:], axis=1, weights=counts[1:])

    @property
    def border_contrast(self) -> np.ndarray:
        """The last layer's standard deviation at the border over that inside, (seeds,); NaN where that inside is 0."""
        border, inside = self.average_border_and_inside("deviation")
        return border / np.where(np.isfinite(inside) & (inside > 0), inside, np.nan)


Outcomes = Mapping[str, Mapping[str, Outcome]]
"""Outcomes by padding and by the key of the scheme."""


def compute_loss_excess(outcomes: Mapping[str, Outcome]) -> np.ndarray:
    """Return layer norm's training loss minus batch norm's as a share of batch norm's mean, (seeds,).

    The mean is the excess of the mean loss. Values are not finite where networks diverged.
    """
    layer, batch = (outcomes[key].mean_losses for key in ("layer", "batch"))
    with np.errstate(invalid="ignore", divide="ignore"):  # ∞ − ∞, or networks without numbers
        return (layer - batch) / batch.mean()


def judge_border_activity(layer: Outcome) -> int:
    """Return 1 if units at the border are clearly rarely on (see `RARE_SHARE`), −1 if they clearly are not, else 0."""
    border, inside = layer.average_border_and_inside("on")
    return find_clear_signs([compare_seed_by_seed(RARE_SHARE * inside, border)])[0]


def judge_paper_claims(ended: Outcomes, schemes: Sequence[str], training: str) -> tuple[Verdict, dict[str, Verdict]]:
    """Return the verdict on rarely active border units as a cause, and by id those on claims about the schemes' order.

    Args:
        ended: the outcomes by padding.
        schemes: the keys of all schemes that are trained.
        training: the steps and the batch size in words.
    """
    padded, mirrored = ended["constant"], ended["reflect"]
    if missing := [SCHEMES[key].label for key in VERDICT_SCHEMES if key not in schemes]:
        return Verdict("open", f"Choose {join_words(missing, 'and')} as well."), {}
    if any(key not in found for key in schemes for found in (padded, mirrored)):
        return Verdict("open", "Not all networks are trained yet."), {}
    condition = f"{training}, each scheme at its best rate."
    if min(float(np.mean(padded[key].test_errors)) for key in ("batch", "layer")) > MAX_LEARNED_ERROR:
        return Verdict("open", "Neither batch norm nor layer norm learns in so few steps.", condition), {}
    found = compare_paddings(ended)
    reason = judge_border_explanation(found)
    text = EXPLANATIONS[reason]
    border = _describe_border(found, padded, mirrored)
    says = " ".join([_describe_losses(found, padded), _describe_rates(found), border])
    condition += f" Holm's correction is for {len(found.differences)} comparisons."
    lead = found.get_sign("padded")
    why = text.why.format("both paddings" if lead > 0 else "mirror padding")
    extent = (
        f"in part: layer norm learns {_FASTER[-found.get_sign('plain')]} no normalization, batch norm learns "
        f"{_FASTER[lead]} layer norm, {text.cause}"
    )
    return _judge_rare_units(judge_border_activity(padded["layer"]), lead, Verdict(text.word, says, condition, why)), {
        "L09": Verdict(_judge_scheme_order(found, reason), says, condition, why, extent),
        "B16": Verdict(
            _judge_batch_norm_lead(found), _describe_losses(found, padded), condition,
            extent=describe_extent({"the training loss": lead, "the test error": found.get_sign("error")}),
        ),
    }  # fmt: skip


def compare_paddings(ended: Outcomes) -> Comparisons:
    """Compare losses, errors and border contrasts of three schemes, whose outcomes `ended` has for both paddings."""
    padded, mirrored = ended["constant"], ended["reflect"]
    plain, batch, layer = (padded[key] for key in VERDICT_SCHEMES)
    excess, mirrored_excess = compute_loss_excess(padded), compute_loss_excess(mirrored)
    nothing = np.zeros_like(excess)
    return Comparisons.of(
        {
            "plain": compare_seed_by_seed(layer.mean_losses, plain.mean_losses),
            "padded": compare_seed_by_seed(excess, nothing),
            "mirrored": compare_seed_by_seed(mirrored_excess, nothing),
            "growth": compare_seed_by_seed(mirrored_excess, excess),
            "contrast": compare_seed_by_seed(mirrored["layer"].border_contrast, layer.border_contrast),
            "error": compare_seed_by_seed(layer.test_errors, batch.test_errors),
            **{
                f"rate {k}": compare_seed_by_seed(layer.losses_by_rate[k], plain.losses_by_rate[k])
                for k in range(len(LEARNING_RATES))
            },
        }
    )


class ExplanationText(NamedTuple):
    """The verdict on the border as a cause: its key, the end of an extent, the reason.

    The reason is a format of the paddings with which layer norm's loss is clearly higher.
    """

    word: VerdictKey
    cause: str
    why: str


_STILL_HIGHER = "With {}, layer norm’s loss is clearly higher than batch norm’s."

EXPLANATIONS = {
    "supported": ExplanationText(
        "holds",
        "and the border is a cause",
        "With mirror padding, layer norm’s loss is clearly lower, relative to batch norm’s.",
    ),
    "contradicted": ExplanationText(
        "wrong",
        "but the border does not explain this",
        _STILL_HIGHER,
    ),
    "unmoved": ExplanationText(
        "wrong",
        "but the border does not explain this",
        f"The two gaps do not clearly differ. {_STILL_HIGHER}",
    ),
    "undecided": ExplanationText(
        "open",
        "and whether the border explains this stays open",
        "These runs do not decide whether layer norm’s loss is higher because of the border.",
    ),
}
"""The texts by the judgement, which `judge_border_explanation` returns."""

_FASTER = {1: "faster than", 0: "not clearly faster than", -1: "slower than"}


def judge_border_explanation(comparisons: Comparisons) -> str:
    """Return the key of `EXPLANATIONS` on whether the border explains batch norm's lead."""
    sides = comparisons.sides
    larger_lag = sides["padded" if sides["growth"] == "less" else "mirrored"]
    if sides["contrast"] != "more" or larger_lag != "more":
        return "undecided"
    return {"less": "supported", "more": "contradicted", "unclear": "unmoved"}[sides["growth"]]


def _judge_rare_units(activity: int, lead: int, border: Verdict) -> Verdict:
    """Return the verdict on whether layer norm does worse because units at the border are rarely on.

    Args:
        activity: of `judge_border_activity`.
        lead: 1 if layer norm's loss is clearly higher than batch norm's.
        border: the verdict on the border as a cause, which counts if its units are rarely on.
    """
    if activity > 0:
        return border
    if activity == 0:
        return replace(border, word="open", why="These runs do not decide whether units at the border are rarely on.")
    why = "So this is not why layer norm’s training loss is higher than batch norm’s here."
    if lead <= 0:
        why = "Nor is layer norm’s training loss clearly higher than batch norm’s here."
    return replace(border, word="wrong", why=why)


def _judge_scheme_order(comparisons: Comparisons, reason: str) -> VerdictKey:
    """Return the key of the verdict on the paper's order of the schemes; `reason`: of `judge_border_explanation`."""
    order = (comparisons.sides["plain"], comparisons.sides["padded"])
    if order[0] == "more" or order[1] == "less":
        return "wrong"
    if order == ("unclear", "unclear"):
        return "open"
    return "holds" if order == ("less", "more") and reason == "supported" else "holds-if"


def _judge_batch_norm_lead(comparisons: Comparisons) -> VerdictKey:
    """Return the key of the verdict on whether batch norm has a lower training loss and test error than layer norm."""
    if comparisons.sides["padded"] == "more":
        return "holds" if comparisons.sides["error"] == "more" else "holds-if"
    return "wrong" if comparisons.sides["padded"] == "less" else "open"


def _describe_losses(comparisons: Comparisons, padded: Mapping[str, Outcome]) -> str:
    """Return sentences on the losses with padding, and on layer norm's differences from the two other schemes."""
    levels = ", ".join(f"{format_mean(padded[key].mean_losses, 3)} with {padded[key].name}" for key in VERDICT_SCHEMES)
    named = [f"{format_mean_percent(padded[key].test_errors)} with {padded[key].name}" for key in VERDICT_SCHEMES[1:]]
    errors = " and ".join(named)
    return (
        f"Training loss, mean over all steps, with zero padding: {levels}. Layer norm against no "
        f"normalization: {comparisons.text('plain')}. Layer norm against batch norm: "
        f"{comparisons.text('padded', 100, '%')}. Test error at the end: {errors} "
        f"({comparisons.text('error', 100, ' points')})."
    )


def _describe_rates(comparisons: Comparisons) -> str:
    """Return a sentence on the learning rates at which layer norm's loss clearly differs from no normalization's."""
    words = {"less": "less", "more": "more", "unclear": "not clearly different"}
    said = []
    for side, word in words.items():
        rates = [typeset(rate) for k, rate in enumerate(LEARNING_RATES) if comparisons.sides[f"rate {k}"] == side]
        if rates:
            said.append(f"{word} at {join_words(rates, 'and')}")
    return f"At the same rate, the loss with layer norm is, against no normalization, {', '.join(said)}."


def _describe_border(comparisons: Comparisons, padded: Mapping[str, Outcome], mirrored: Mapping[str, Outcome]) -> str:
    """Return sentences on the border's contrast and the lead of batch norm, with zeros (`padded`) and mirrored."""
    plain, layer = padded["none"], padded["layer"]
    border, inside = (format_percent(each.mean()) for each in layer.average_border_and_inside("on"))
    return (
        f"In the last layer, σ at the border over σ inside is {format_mean(layer.border_contrast, 3)} with layer norm "
        f"and {format_mean(plain.border_contrast, 3)} without normalization. With layer norm, units at the border are "
        f"turned on for {border} of the digits, those inside for {inside}. With mirror padding, σ at the border "
        f"over σ inside is {format_mean(mirrored['layer'].border_contrast, 3)}. Layer norm against batch norm there: "
        f"{comparisons.text('mirrored', 100, '%')}. That excess against the excess with zero padding: "
        f"{comparisons.text('growth', 100, ' points')}."
    )
