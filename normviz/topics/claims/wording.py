"""Texts about a claim, as Markdown: its row, its source, its evidence, and the command that measures it."""

from functools import partial

from normviz.core.text import capitalize_first
from normviz.describe.markdown import escape_markdown
from normviz.topics.claims.claim import Claim, Evidence, ExperimentCheck
from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.state import TABLE_KEY
from normviz.topics.claims.trials import SEED_COUNT
from normviz.topics.claims.verdicts import VERDICTS
from normviz.topics.experiments.catalogue import get_experiment
from normviz.topics.experiments.reports import VERDICT_SIGNS, Verdict

CLAIM_OUTCOMES = {True: "✔ as claimed", False: "✘ not as claimed"}
FACT_OUTCOMES = {True: "✔ a fact", False: "✘ not a fact"}
OPINION_SIDES = {True: "◇ for it", False: "◇ against it"}
"""Texts of the outcome of a trial, by whether it holds: of a claim, of a premise, of an opinion."""


def describe_group(key: str, count: int) -> str:
    """Return the heading of a group of claims: its number of claims in words, with the sign of its verdict.

    Example:
        >>> describe_group("wrong", 13), describe_group("table-1", 35)
        ('✘ 13 more claims are wrong', '✔ 35 claims hold: the entries of Table 1')
    """
    if key == "first":
        return "Have you heard these?"
    verdict = VERDICTS["holds" if key == TABLE_KEY else key]
    more = "" if key == TABLE_KEY else "more "
    said = f"{verdict.sign} {count} {more}{'claim' if count == 1 else 'claims'} "
    said += verdict.one if count == 1 else verdict.many
    return said + (": the entries of Table 1" if key == TABLE_KEY else "")


def format_claim_row(claim: Claim) -> str:
    """Return one line of Markdown with the verdict, the claim and the first sentence of its reason."""
    return f"{VERDICTS[claim.expected].chip} **{escape_markdown(claim.summary)}** {escape_markdown(claim.reason)}"


def describe_provenance(version: str, is_experiment: bool) -> str:
    """Return a sentence on shipped evidence: the version that measured it, and its seeds or settings."""
    what = "the experiment with its default settings" if is_experiment else f"seeds 0 to {SEED_COUNT - 1}"
    return f"Our result, computed with version {version}: {what}."


def describe_test(claim: Claim) -> str:
    """Return the test of a claim in words: the docstring of its check, or data and networks of its experiments."""
    if isinstance(claim.check, ExperimentCheck):
        return " ".join(each.about(each.setting()) for each in map(get_experiment, claim.check.experiments))
    check = claim.check.func if isinstance(claim.check, partial) else claim.check
    return capitalize_first(" ".join((check.__doc__ or "").split()).removeprefix("Yield trials that "))


def format_claim_sources(claim: Claim) -> str:
    """Return Markdown with the claim's sources as links, after the full claim if the row shows a shorter one."""
    found = [SOURCES[each] for each in claim.sources]
    named = (
        f"[{escape_markdown(each.citation)}]({each.url})" if each.url else escape_markdown(each.citation)
        for each in found
    )
    full = f"**The claim in full.** {escape_markdown(claim.says)}  \n" if claim.short else ""
    return f"{full}**{'Asked in' if claim.asked else 'Source'}.** {'; '.join(named)}" + (
        ". The answer is this app's." if claim.asked else ""
    )


def format_evidence_table(evidence: Evidence) -> str:
    """Return a Markdown table of the trials: what was measured, median and range over the seeds, and outcome."""
    head = ("What was measured", "Number (least to largest)", "Outcome"), ("---",) * 3
    trials = (
        (
            escape_markdown(capitalize_first(each.what)),
            escape_markdown(each.median_and_range) or "–",
            (FACT_OUTCOMES if each.fact else OPINION_SIDES if evidence.opinion else CLAIM_OUTCOMES)[each.holds],
        )
        for each in evidence.trials
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in (*head, *trials))


def format_experiment_verdict(verdict: Verdict) -> str:
    """Return Markdown with an experiment's verdict, its reason and, on a second line, its conditions."""
    said = f"**{VERDICT_SIGNS[verdict.word]} {escape_markdown(verdict.text)}.** {escape_markdown(verdict.says)}"
    return f"{said}  \n{escape_markdown(verdict.condition)}" if verdict.condition else said


def format_measure_command(claim: Claim, seed: int) -> str:
    """Return the `normviz claims` command that measures a claim with seeds from `seed` on."""
    return f"normviz claims --id {claim.id}" + (f" --seed {seed}" if seed else "")
