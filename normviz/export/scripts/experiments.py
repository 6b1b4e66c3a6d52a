"""The script of the page "Experiments": the open experiment, its verdict and its numbers."""

from normviz.export.scheme_code import write_settings_code
from normviz.export.script import PageScript, write_code, write_text
from normviz.topics.experiments import state
from normviz.ui.link import View


def write_script(view: View) -> PageScript:
    """Return the Python script of the open experiment. Raises InvalidInput for an invalid setting."""
    experiment, setting = state.get_shown_experiment(view), state.build_shown_setting(view)
    cells = [
        write_text(f"**{experiment.question}** Data and network: {experiment.about(setting)}"),
        write_code(
            """
            from normviz.jobs.spec import run_to_end
            from normviz.topics.experiments.catalogue import get_experiment

            experiment = get_experiment($key)
            setting = $setting
            print(setting)
            jobs = experiment.list_jobs(setting)
            """,
            key=experiment.key,
            setting=write_settings_code(setting, "experiment.setting"),
        ),
        write_text("The results of the default setting are shipped. For others, the networks train for some minutes."),
        write_code(
            """
            from normviz.topics.experiments.examples import find_example

            example = find_example(experiment.key, jobs)
            results = example.results if example else {job: run_to_end(job) for job in jobs}
            """
        ),
        write_text("The verdict on the claim."),
        write_code(
            """
            report = experiment.report(setting, results)
            print(report.headline)
            print(report.verdict.text, report.verdict.says, report.verdict.condition)
            """
        ),
        write_text("All numbers, as the page saves them: a row for each network and setting."),
        write_code(
            """
            print(*report.table, sep=", ")
            for row in zip(*report.table.values(), strict=True):
                print(*row, sep=", ")
            """
        ),
    ]
    return PageScript(experiment.title, cells, "train")
