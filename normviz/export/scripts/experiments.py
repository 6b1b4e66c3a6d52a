"""The script of the page "Experiments": the open experiment, its verdict and its numbers."""

from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, make_code, make_text
from normviz.topics.experiments import state
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the open experiment. Raises InvalidInput for an invalid setting."""
    experiment, setting = state.get_shown_experiment(view), state.build_shown_setting(view)
    cells = [
        make_text(f"**{experiment.question}** Data and network: {experiment.about(setting)}"),
        make_code(
            """
            from normviz.jobs.spec import run_to_end
            from normviz.topics.experiments.catalogue import get_experiment

            experiment = get_experiment($key)
            setting = $setting
            print(setting)
            jobs = experiment.list_jobs(setting)
            """,
            key=experiment.key,
            setting=format_settings_code(setting, "experiment.setting"),
        ),
        make_text("The results of the default setting are shipped. For others, the networks train for some minutes."),
        make_code(
            """
            from normviz.topics.experiments.examples import find_example

            example = find_example(experiment.key, jobs)
            results = example.results if example else {job: run_to_end(job) for job in jobs}
            """
        ),
        make_text("The verdict on the claim."),
        make_code(
            """
            report = experiment.report(setting, results)
            print(report.headline)
            print(report.verdict.text, report.verdict.says, report.verdict.condition)
            """
        ),
        make_text("All numbers, as the page saves them: a row for each network and setting."),
        make_code(
            """
            print(*report.table, sep=", ")
            for row in zip(*report.table.values(), strict=True):
                print(*row, sep=", ")
            """
        ),
    ]
    return PageScript(experiment.title, cells, "train")
