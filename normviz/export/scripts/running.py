"""The script of the page "Training vs. inference": running averages, mistakes with them, and other examples."""

from collections.abc import Callable

from normviz.core.errors import InvalidInput
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, make_code, make_text
from normviz.topics.running import state
from normviz.topics.running.averages import CONVENTIONS
from normviz.topics.running.modes import MODES
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the open panel. Raises InvalidInput if the framework refuses the batch."""
    return PANEL_SCRIPTS[view["panel"]](view)


def _build_switch(view: View) -> PageScript:
    setting, convention = state.build_stream_setting(view), CONVENTIONS[view["framework"]]
    if setting.element_count == 1 and convention.unbiased:
        raise InvalidInput(f"{convention.name} refuses to train on one value per unit; a batch of 2 would do.")
    momentum = convention.convert_momentum(view["share"])
    cells = [
        make_text("A stream of mini-batches goes through a layer. Each has a mean and a variance for every unit."),
        make_code(
            """
            from normviz.topics.running.averages import CONVENTIONS, compute_running_averages
            from normviz.topics.running.modes import compute_batch_at
            from normviz.topics.running.stream import Setting, trace_stream

            setting = $setting
            print(setting)
            eps = $eps
            stream = trace_stream(setting, eps)
            """,
            setting=format_settings_code(setting),
            eps=view["eps"],
        ),
        make_text(f"{convention.name} averages them in training, with this momentum. Inference uses the averages."),
        make_code(
            """
            convention, momentum = CONVENTIONS[$framework], $momentum
            averages = compute_running_averages(
                stream.mean, stream.variance, setting.element_count, convention, momentum
            )
            """,
            framework=view["framework"],
            momentum=momentum,
        ),
        make_text("After `position` batches, at one unit: the statistics of both modes, and x̂ of one digit."),
        make_code(
            """
            position, unit, digit = $step, $unit, $digit
            batch = compute_batch_at(setting, stream, averages, position, eps)
            print(f"a {batch.classes[digit]}: x = {batch.x[digit, unit]:.8g}")
            for mode in $modes:
                mean, variance = (part[unit] for part in batch.statistics[mode])
                print(f"{mode}: mean {mean:.8g}, variance {variance:.8g}", end="")
                print(f", x̂ {batch.output[mode][digit, unit]:.8g}" if mode in batch.output else "")
            """,
            step=view["step"],
            unit=view["unit"] - 1,
            digit=view["digit"],
            modes=tuple(MODES),
        ),
    ]
    return PageScript("Batch norm in training and in inference", cells, "train")


def _build_wrong(view: View) -> PageScript:
    convention = CONVENTIONS[view["framework"]]
    if view["batch"] == 1 and convention.unbiased:
        raise InvalidInput(f"{convention.name} refuses to train this network on one digit at a time.")
    cells = [
        make_text("Eight networks with batch norm learn digits, which takes some seconds."),
        make_code(
            """
            from normviz.jobs.spec import run_to_end
            from normviz.topics.running.averages import CONVENTIONS
            from normviz.topics.running.cases import measure_case_accuracies
            from normviz.topics.running.network import NetworkTraining

            training = NetworkTraining(batch=$batch, eps=$eps, seed=$seed)
            trained = run_to_end(training)
            """,
            batch=view["batch"],
            eps=view["eps"],
            seed=view["seed"],
        ),
        make_text("Test accuracy with the right statistics, and with each mistake: the mean over the networks."),
        make_code(
            """
            convention, share = CONVENTIONS[$framework], $share
            for case, accuracy in measure_case_accuracies(trained, training, convention, share).items():
                print(f"{case}: {accuracy.mean():.1%}")
            """,
            framework=view["framework"],
            share=view["share"],
        ),
    ]
    return PageScript("What goes wrong with running averages", cells, "train")


def _build_companions(view: View) -> PageScript:
    setting = state.build_stream_setting(view).without_drift
    cells = [
        make_text("One test digit in many mini-batches: does its x̂ depend on the other digits?"),
        make_code(
            """
            from normviz.topics.running.effects import normalize_in_random_batches
            from normviz.topics.running.stream import Setting

            setting, unit = $setting, $unit
            for scheme, outputs in normalize_in_random_batches(setting, eps=$eps).items():
                x = outputs[:, unit]
                print(f"{scheme}: from {x.min():.8g} to {x.max():.8g}, apart by {x.max() - x.min():.3g}")
            """,
            setting=format_settings_code(setting),
            unit=view["unit"] - 1,
            eps=view["eps"],
        ),
    ]
    return PageScript("Does the output depend on the other examples?", cells, "train")


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "switch": _build_switch,
    "wrong": _build_wrong,
    "companions": _build_companions,
}
