"""The script of Table 1: theory, one forward pass and training for the shown rows, and the curves of the open case."""

from normviz.core.errors import InvalidInput
from normviz.core.transformations import TRANSFORMATIONS
from normviz.export.scheme_code import format_scheme_code, format_settings_code
from normviz.export.script import Expression, PageScript, ScriptCell, make_code, make_text
from normviz.topics.table1 import state
from normviz.topics.table1.cases import format_case_title
from normviz.ui.link import View
from normviz.ui.scheme import build_schemes


def build_script(view: View) -> PageScript:
    """Return the Python script of the state `view` of Table 1. Raises InvalidInput without rows."""
    schemes, setting = build_schemes(view), state.build_table_setting(view)
    setting.check(schemes)
    if not schemes:
        raise InvalidInput("no normalization is chosen; one would do.")
    key, _, change = view["cell"].partition(".")
    row = next(number for number, scheme in enumerate(schemes) if scheme.key == key)
    title = format_case_title(schemes[row], TRANSFORMATIONS[change], setting)
    rows = "\n".join(f"    {format_scheme_code(scheme)}," for scheme in schemes)
    cells = [
        make_text(
            """Which changes of the weights or the data does a normalization cancel? Each network trains beside a twin
            with one change. If the change cancels, both have the same loss at every step (Ba et al. 2016, Table 1)."""
        ),
        make_code(
            "import normviz\nfrom normviz.topics.table1.results import TableResultCache\n"
            "from normviz.topics.table1.table import build_cells\nfrom normviz.train.setting import Setting\n\n"
            f"schemes = [\n{rows}\n]\nsetting = $setting\nprint(setting)",
            setting=format_settings_code(setting),
        ),
        make_text(
            """Every cell in three ways: theory, one forward pass, and training, which takes some seconds. A gap is the
            difference between network and twin, relative to the network: 1e-16 is rounding."""
        ),
        make_code(
            """
            results = TableResultCache()
            results.compute_missing(schemes, setting)
            words = {True: "same", False: "different", None: "no answer"}
            for cell in build_cells(schemes, setting, results, has_matched_rate=$follow):
                print(f"{cell.row_name}, {cell.transformation}: theory {words[cell.predicted]},", end=" ")
                print(f"measured {words[cell.invariant]}. Gaps: forward {cell.forward_gap:.2g},", end=" ")
                print(f"training {cell.training_gap:.2g}, at equal rates {cell.training_gap_equal_lr:.2g}")
            """,
            follow=view["follow"],
        ),
        make_text(f"The open case: {title}. The last losses of the network and of its twin:"),
        make_code(
            """
            from normviz.train.problem import ORIGINAL, find_network_index

            twin = find_network_index(normviz.TRANSFORMATIONS[$change], $follow)
            losses = results.get_losses(schemes[$row], setting)
            print(f"network: {losses[-1, ORIGINAL]:.4g}, twin: {losses[-1, twin]:.4g}")
            """,
            change=change,
            follow=view["follow"],
            row=row,
        ),
        *_build_sweep_cells(view["panel"], row),
    ]
    return PageScript("Table 1: which changes cancel?", cells, "train")


SWEEPS = {
    "eps": ("ε", "eps", "forward", "schemes"),
    "training": ("ε", "eps", "training", "schemes"),
    "delta": ("δ", "delta", "forward", "[schemes[{row}]]"),
}
"""Panels with a sweep: its variable as symbol and as name, what is measured, and the schemes."""

MEASUREMENTS = {
    "forward": "for job in results.list_missing_measurements(swept, each):\n"
    "        results.store_forward(job, run_to_end(job))",
    "training": "results.compute_missing(swept, each)",
}
"""The code that measures the schemes with one setting of a sweep."""


def _build_sweep_cells(panel: str, row: int) -> list[ScriptCell]:
    """Return the cells of a panel that varies a setting; an empty list for other panels."""
    if panel not in SWEEPS:
        return []
    symbol, name, measured, schemes = SWEEPS[panel]
    return [
        make_text(f"The gaps over {symbol}, {measured}: for each value the six changes, scheme by scheme."),
        make_code(
            """
            from normviz.jobs.spec import run_to_end
            from normviz.topics.table1.sweeps import build_${name}_settings, collect_${measured}_gaps

            swept, settings = $schemes, build_${name}_settings(setting)
            for each in settings:
                $measure
            gaps = collect_${measured}_gaps(swept, settings, results)
            for each, row in zip(settings, gaps, strict=True):
                print(f"{each.dtype}, $symbol = {each.$name:g}:", [f"{gap:.2g}" for gap in row.ravel()])
            """,
            **{
                part: Expression(text)
                for part, text in {
                    "name": name,
                    "measured": measured,
                    "schemes": schemes.format(row=row),
                    "measure": MEASUREMENTS[measured],
                    "symbol": symbol,
                }.items()
            },
        ),
    ]
