"""A claim in words, as Markdown: its row, its source, its evidence, and the command that measures it."""

from normviz.core.text import capitalize_first
from normviz.describe.markdown import escape_markdown
from normviz.topics.claims.claim import COUNT, Claim, Evidence, Trial
from normviz.topics.claims.sources import SOURCES
from normviz.topics.claims.state import TABLE
from normviz.topics.claims.verdicts import VERDICTS
from normviz.topics.experiments.reports import SHAPES, WORDS, Verdict

SAID = {True: "✔ as claimed", False: "✘ not as claimed"}
FACT = {True: "✔ a fact", False: "✘ not a fact"}
SIDES = {True: "◇ for it", False: "◇ against it"}
"""What a trial says, by whether it holds: of the claim, of what the verdict rests on, of an opinion."""


def group_words(key: str, count: int) -> str:
    """Return how many claims a group has, in words with the sign of its verdict.

    Example:
        >>> group_words("wrong", 13), group_words("table-1", 35)
        ('✘ 13 more claims are wrong', '✔ 35 claims hold: the entries of Table 1')
    """
    if key == "first":
        return "Have you heard these?"
    verdict = VERDICTS["holds" if key == TABLE else key]
    more = "" if key == TABLE else "more "
    said = f"{verdict.sign} {count} {more}{'claim' if count == 1 else 'claims'} "
    said += verdict.one if count == 1 else verdict.many
    return said + (": the entries of Table 1" if key == TABLE else "")


def row(claim: Claim) -> str:
    """Return the verdict, the claim and the reason in one line, as Markdown."""
    return f"{VERDICTS[claim.expected].chip} **{escape_markdown(claim.line)}** {escape_markdown(claim.reason)}"


def provenance(version: str, is_tried: bool) -> str:
    """Return where shipped evidence comes from, in a sentence."""
    what = "the experiment with its default settings" if is_tried else f"seeds 0 to {COUNT - 1}"
    return f"Our result, computed with version {version}: {what}."


def sources(claim: Claim) -> str:
    """Return the claim in full where its row is shorter, and who says so, each with where it can be read."""
    found = [SOURCES[each] for each in claim.sources]
    named = (
        f"[{escape_markdown(each.citation)}]({each.url})" if each.url else escape_markdown(each.citation)
        for each in found
    )
    full = f"**The claim in full.** {escape_markdown(claim.says)}  \n" if claim.short else ""
    return f"{full}**{'Asked in' if claim.asked else 'Source'}.** {'; '.join(named)}" + (
        ". The answer is this app's." if claim.asked else ""
    )


def table(evidence: Evidence) -> str:
    """Every trial with its number, the least and the largest over the seeds, and what it says."""
    head = ("What was measured", "Number (least to largest)", "Outcome"), ("---",) * 3
    trials = (
        (escape_markdown(capitalize_first(each.what)), escape_markdown(each.number) or "–", _says(each, evidence))
        for each in evidence.trials
    )
    return "\n".join(f"| {' | '.join(line)} |" for line in (*head, *trials))


def _says(trial: Trial, evidence: Evidence) -> str:
    return (FACT if trial.fact else SIDES if evidence.opinion else SAID)[trial.holds]


def tried(verdict: Verdict) -> str:
    """What an experiment says, and what that depends on."""
    said = f"**{SHAPES[verdict.word]} {WORDS[verdict.word]}.** {escape_markdown(verdict.says)}"
    return f"{said}  \n{escape_markdown(verdict.condition)}" if verdict.condition else said


def without_a_browser(claim: Claim, seed: int) -> str:
    """The command that measures it."""
    return f"normviz claims --id {claim.id}" + (f" --seed {seed}" if seed else "")
