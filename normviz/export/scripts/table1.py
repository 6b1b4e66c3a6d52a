"""The script of Table 1: theory, one forward pass and training for the shown rows, and the curves of the open case."""

from normviz.core.errors import InvalidInput
from normviz.core.transformations import TRANSFORMATIONS
from normviz.export.scheme_code import format_scheme_code, format_settings_code
from normviz.export.script import Expression, PageScript, fill_script
from normviz.topics.table1 import state
from normviz.topics.table1.cases import format_case_title
from normviz.ui.link import View
from normviz.ui.scheme import build_schemes

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


def build_script(view: View) -> PageScript:
    """Return the Python script of the state `view` of Table 1. Raises InvalidInput without rows."""
    schemes, setting = build_schemes(view), state.build_table_setting(view)
    setting.check(schemes)
    if not schemes:
        raise InvalidInput("no normalization is chosen; one would do.")
    key, _, change = view["cell"].partition(".")
    row = next(number for number, scheme in enumerate(schemes) if scheme.key == key)
    title = format_case_title(schemes[row], TRANSFORMATIONS[change], setting)
    rows = Expression("\n".join(f"    {format_scheme_code(scheme)}," for scheme in schemes))
    values = {"rows": rows, "setting": format_settings_code(setting), "title": title, "change": change, "row": row}
    if view["panel"] not in SWEEPS:
        return fill_script("table1", ["table"], view | values, "train")
    symbol, name, measured, swept = SWEEPS[view["panel"]]
    code = {"symbol": symbol, "name": name, "measured": measured, "schemes": swept.format(row=row)}
    code |= {"measure": MEASUREMENTS[measured]}
    values |= {part: Expression(text) for part, text in code.items()}
    return fill_script("table1", ["table", "sweep"], view | values, "train")
