"""The pictures of the steps about training: Table 1, Training vs. inference, and experiments."""

from collections.abc import Sequence
from functools import lru_cache
from html import escape

from normviz.charts.packing import pack_message
from normviz.charts.palette import THEMES
from normviz.classroom.site.step_parts import StepPart, format_words_html, make_plot_part, make_text_part, wrap_table
from normviz.core.errors import InvalidInput
from normviz.core.registry import Scheme
from normviz.core.transformations import TRANSFORMATIONS
from normviz.describe.wording import format_duration
from normviz.jobs.spec import run_to_end
from normviz.topics.experiments.examples import find_example
from normviz.topics.experiments.figures import compute_figure_height, draw_figure, is_rate_figure, split_figure
from normviz.topics.experiments.reports import VERDICT_SIGNS, FigureSpec
from normviz.topics.experiments.state import build_shown_setting, get_shown_experiment
from normviz.topics.running import cases
from normviz.topics.running.averages import CONVENTIONS
from normviz.topics.running.modes import compute_batch_at
from normviz.topics.running.network import NetworkTraining, TrainedNetworks
from normviz.topics.running.panels import stream
from normviz.topics.running.panels.accuracy import build_case_rows, draw_case_rows, format_costliest_mistakes
from normviz.topics.running.panels.companions import draw_outputs_in_random_batches
from normviz.topics.running.state import build_stream_setting, compute_page_averages, get_stream_trace
from normviz.topics.table1.cases import (
    describe_case_twin,
    explain_picture_squares,
    format_case_title,
    format_change_sign,
)
from normviz.topics.table1.grid import build_grid_data, get_cell_key
from normviz.topics.table1.panels import (
    build_twin_curves,
    choose_plot_data,
    describe_final_losses,
    format_answer_heading,
    format_case_reason,
)
from normviz.topics.table1.pictures import render_change_picture
from normviz.topics.table1.results import TableResultCache
from normviz.topics.table1.state import build_table_setting
from normviz.topics.table1.table import Cell, build_cells
from normviz.topics.table1.training_panels import MAX_UNASKED_SECONDS
from normviz.train.cost import estimate_training_seconds
from normviz.train.problem import NETWORKS, ORIGINAL, find_network_index
from normviz.train.setting import Setting
from normviz.ui.link import View
from normviz.ui.scheme import build_schemes
from normviz.web.plot_message import DrawnFigure

_TABLE_RESULTS = TableResultCache()
"""The trainings of Table 1 in this process, each done once for all steps."""


def build_table_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of Table 1: the table of answers, or one cell, once answered with its loss curves."""
    schemes, setting = tuple(build_schemes(view)), build_table_setting(view)
    seconds = estimate_training_seconds(setting, len(schemes), len(NETWORKS))
    if seconds > MAX_UNASKED_SECONDS:
        raise InvalidInput(f"its training takes about {format_duration(seconds)}; the app starts it on request.")
    _TABLE_RESULTS.compute_missing(schemes, setting)
    cells = build_cells(schemes, setting, _TABLE_RESULTS, view["follow"])
    if view["reveal"]:
        return [make_text_part("table", format_answers_table(cells, schemes, setting))]
    cell = next(cell for cell in cells if get_cell_key(cell) == view["cell"])
    scheme = next(scheme for scheme in schemes if scheme.key == cell.scheme)
    case = make_text_part("case", _format_case_html(cell, scheme, setting, view["follow"]))
    if view["panel"] != "script":  # which the page opens with the answer
        return [case]
    return [case, *_build_case_answer_parts(cell, scheme, setting, view["follow"])]


def _format_case_html(cell: Cell, scheme: Scheme, setting: Setting, has_matched_rate: bool) -> str:
    """Return a cell of Table 1 as HTML: its title, and the twin's transformation as a picture and in words."""
    change = TRANSFORMATIONS[cell.transformation]
    title = format_words_html(f"### {format_case_title(scheme, change, setting)}")
    picture = render_change_picture(change, setting, format_change_sign(change, setting))
    words = f"{describe_case_twin(change, setting, has_matched_rate)} {explain_picture_squares(change, setting)}"
    return f"{title}{picture}{format_words_html(words)}"


def _build_case_answer_parts(cell: Cell, scheme: Scheme, setting: Setting, has_matched_rate: bool) -> list[StepPart]:
    """Return the `StepPart`s of an answered cell: losses of the network and its transformed twin, and the answer."""
    change = TRANSFORMATIONS[cell.transformation]
    networks = [ORIGINAL, find_network_index(change, has_matched_rate)]
    losses = _TABLE_RESULTS.get_losses(scheme, setting)[:, networks]
    shown, note = choose_plot_data(cell, scheme, change, setting, losses)
    curves = {theme: pack_message(build_twin_curves(cell, shown, theme)) for theme in THEMES}
    why = f"{format_case_reason(cell, scheme, setting)}\n{note} {describe_final_losses(cell, losses, setting)}"
    words = format_words_html(f"### {format_answer_heading(None, cell)}\n{why}")
    return [StepPart("twins", "curves", curves), make_text_part("below", words)]


def format_answers_table(cells: Sequence[Cell], schemes: Sequence[Scheme], setting: Setting) -> str:
    """Return the answers of all cases as an HTML table: a row for each scheme, a column for each change."""
    grid = build_grid_data(cells, schemes, setting, "", (), next(iter(THEMES)), False)
    columns, groups = grid["columns"], [column["on"] for column in grid["columns"]]
    over = "".join(f'<th colspan="{groups.count(on)}">{escape(name)}</th>' for on, name in grid["groups"].items())
    names = "".join(f"<th>{escape(column['sign'])}<br>{escape(column['name'])}</th>" for column in columns)
    rows = "".join(
        f'<tr><th scope="row">{escape(row["name"])}</th>'
        + "".join(f'<td class="{cell["answer"]}">{cell["sign"]} {cell["word"]}</td>' for cell in row["cells"])
        + "</tr>"
        for row in grid["rows"]
    )
    head = f"<tr><td></td>{over}</tr><tr><td></td>{names}</tr>"
    return f'<div class="answers-table">{wrap_table(f"<thead>{head}</thead><tbody>{rows}</tbody>")}</div>'


def build_running_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of the view's panel of "Training vs. inference"."""
    panel = {"switch": _build_stream_parts, "wrong": _build_mistakes_parts, "companions": _build_batch_effect_parts}
    return panel[view["panel"]](view)


def _build_stream_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on a batch in training or inference: its outputs, and batch and running statistics."""
    setting, position = build_stream_setting(view), view["step"]
    seen = get_stream_trace(setting, view["eps"])
    averages = compute_page_averages(view, seen)
    batch = compute_batch_at(setting, seen, averages, position, view["eps"])
    if view["mode"] == "training":  # as on the page, where inference is shown once it was chosen
        batch.output.pop("inference", None)
    return [
        make_text_part("heading", format_words_html(f"### {stream.describe_outputs(view, batch)}")),
        make_plot_part("batch", lambda theme: stream.draw_digits(view, seen, averages, batch, theme)),
        make_text_part("statistics", lambda theme: stream.format_statistics_html(view, batch, theme)),
        make_plot_part("stream", lambda theme: stream.draw_statistics_so_far(view, seen, averages, position, theme)),
    ]


@lru_cache(maxsize=4)
def _train_networks(job: NetworkTraining) -> TrainedNetworks:
    return run_to_end(job)


def _build_mistakes_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on mistakes with running averages: the costliest in words, and the accuracy of each."""
    convention, job = CONVENTIONS[view["framework"]], NetworkTraining(view["batch"], view["eps"], view["seed"])
    measured = cases.measure_case_accuracies(_train_networks(job), job, convention, view["share"])
    rows = build_case_rows(measured, view, convention)
    words = "\n".join(format_costliest_mistakes(measured, view, convention))
    return [
        make_text_part("heading", format_words_html(words)),
        make_plot_part("effect", lambda theme: draw_case_rows(rows, theme)),
    ]


def _build_batch_effect_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s on one digit's output in different mini-batches, by scheme."""
    _, words = draw_outputs_in_random_batches(view, next(iter(THEMES)))
    return [
        make_plot_part("companions", lambda theme: draw_outputs_in_random_batches(view, theme)[0]),
        make_text_part("below", format_words_html(words)),
    ]


def build_experiment_parts(view: View) -> list[StepPart]:
    """Return the `StepPart`s of an experiment's shipped result: its first figure, with texts; [] without a result."""
    experiment, setting = get_shown_experiment(view), build_shown_setting(view)
    example = find_example(experiment.key, experiment.list_jobs(setting))
    if example is None:
        return []
    report = experiment.report(setting, example.results)
    verdict, lead = report.verdict, report.figures[0]
    claim = f"**{VERDICT_SIGNS[verdict.word]} The claim: {verdict.text[0].lower()}{verdict.text[1:]}.**"
    figures = [_make_report_part(each) for each in split_figure(lead) if not is_rate_figure(each)]
    below = make_text_part("below", format_words_html(f"{lead.caption}\n{verdict.says}"))
    return [
        make_text_part("heading", format_words_html(f"### {report.headline}\n{claim}")),
        *figures,
        below,
    ]


def _make_report_part(spec: FigureSpec) -> StepPart:
    return make_plot_part(
        spec.key, lambda theme: DrawnFigure(draw_figure(spec, theme), spec.alt, compute_figure_height(spec))
    )
