"""The script of the page "Claims, tested": the open claims, measured again, and the list of the others."""

from normviz.core.errors import InvalidInput
from normviz.export.script import Expression, PageScript, ScriptCell, format_call, make_code, make_text
from normviz.topics.claims import state
from normviz.topics.claims.claim import ExperimentCheck
from normviz.topics.claims.claim_list import CLAIMS
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the page's state `view`. Raises InvalidInput if no claim passes the filters."""
    passing = tuple(claim.id for claim in state.select_claims(view))
    if not passing:
        raise InvalidInput("no claim passes all filters; remove one of them.")
    chosen = format_call("get_claims", passing)
    claims = chosen if state.is_filtered(view) else Expression("CLAIMS.values()")
    names = "get_claims" if state.is_filtered(view) else "CLAIMS, get_claims" if view["claim"] else "CLAIMS"
    cells = [
        make_text("The selected claims with their verdicts on record."),
        make_code(
            """
            from normviz.topics.claims.claim_list import $names

            for claim in $claims:
                print(f"{claim.id} {claim.expected}: {claim.says}")
            """,
            claims=claims,
            names=Expression(names),
        ),
    ]
    measured = [id for id in view["claim"] if not isinstance(CLAIMS[id].check, ExperimentCheck)]
    trained = [id for id in view["claim"] if id not in measured]
    if measured:
        cells += _build_measured_cells(tuple(measured), view["seed"])
    if trained:
        cells += _build_trained_cells(tuple(trained), view["seed"])
    return PageScript("Claims about normalization, tested", cells, "train")


def _build_measured_cells(ids: tuple[str, ...], seed: int) -> list[ScriptCell]:
    return [
        make_text("The open claims, measured now: the verdict, and each trial with its numbers."),
        make_code(
            """
            from normviz.topics.claims.jobs import measure_claim

            for claim in get_claims($ids):
                evidence = measure_claim(claim, seed=$seed)
                print(f"{claim.id} {evidence.verdict}: {evidence.text}")
            """,
            ids=ids,
            seed=seed,
        ),
    ]


def _build_trained_cells(ids: tuple[str, ...], seed: int) -> list[ScriptCell]:
    return [
        make_text("The open claims that experiments decide. Their networks train for some minutes."),
        make_code(
            """
            from normviz.jobs.spec import run_to_end
            from normviz.topics.claims.jobs import find_evidence, list_claim_jobs

            for claim in get_claims($ids):
                results = {job: run_to_end(job) for job in list_claim_jobs(claim, $seed)}
                evidence = find_evidence(claim, $seed, results)
                print(f"{claim.id} {evidence.verdict}: {evidence.text}")
            """,
            ids=ids,
            seed=seed,
        ),
    ]
