"""The script of the page "Weight normalization": weight norm under SGD, or spectral norm of a layer."""

from collections.abc import Callable

from normviz.core.settings import build_settings
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, make_code, make_text
from normviz.topics.weights.descent import STEPS, Setting
from normviz.topics.weights.state import ITERATION_COUNT, RUN_NAMES
from normviz.topics.weights.weights import PAIR_COUNT
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    return PANEL_SCRIPTS[view["show"]](view)


def _build_weight_norm(view: View) -> PageScript:
    cells = [
        make_text(
            "Runs of SGD learn to tell the digits 3 and 8 apart. With weight norm they change v and g of w = g v/‖v‖."
        ),
        make_code(
            """
            from normviz.topics.weights.descent import PARAMETRIZATIONS, Setting, run_sgd

            setting = $setting
            print(setting)
            runs = {key: run_sgd(PARAMETRIZATIONS[key], setting) for key in $keys}
            factor = float(runs["weight"].rate_factors[0])
            runs["scaled"] = run_sgd(PARAMETRIZATIONS["plain"], setting, rate_factor=factor)
            print(f"scaled: plain, at {factor:.8g} times the learning rate")
            """,
            setting=format_settings_code(build_settings(Setting, view)),
            keys=tuple(RUN_NAMES),
        ),
        make_text("The losses and lengths at the step of the page, and at the end."),
        make_code(
            """
            for step in $steps:
                for name, run in runs.items():
                    print(f"{name}, step {step}: loss {run.losses[step]:.8g}, w = {run.w[step]}", end=", ")
                    print(f"‖v‖ = {run.lengths[step]:.8g}, g = {run.g[step]:.8g}")
            for name, other in ("weight", "plain"), ("plain", "weight"):
                reached = runs[name].losses <= runs[other].losses[-1]
                if reached.any():
                    print(f"{name} reaches the last loss of {other} at step {reached.argmax()}")
            """,
            steps=tuple(dict.fromkeys((view["step"], STEPS))),
        ),
    ]
    return PageScript("Weight norm under SGD", cells, "train")


def _build_spectral_norm(view: View) -> PageScript:
    cells = [
        make_text("The weights of the first layer of a small network, (kh, kw, Cin, Cout)."),
        make_code(
            """
            import normviz
            from normviz.topics.weights.weights import (
                FIRST_LAYERS, build_operator_matrix, compute_lipschitz_ratios, flatten_to_matrix,
                run_power_iteration, sample_digit_pairs, train_first_layer
            )

            layer = FIRST_LAYERS[$layer]
            w = train_first_layer(layer, $trained, $seed)
            """,
            layer=view["layer"],
            trained=view["trained"],
            seed=view["seed"],
        ),
        make_text("Spectral norm divides by the largest singular value σ₁. Power iteration estimates it."),
        make_code(
            """
            run = run_power_iteration(flatten_to_matrix(w), $count, $seed)
            print(f"σ after step $iteration: {run.sigma[$iteration]:.8g}, σ₁ = {run.values[0]:.8g}")
            normalized = normviz.normalize(w, "spectral", layout="HWIO").xhat
            """,
            count=ITERATION_COUNT,
            seed=view["seed"],
            iteration=view["iteration"],
        ),
        make_text("By how much does the layer move pairs of digits apart, before and after?"),
        make_code(
            """
            pairs = sample_digit_pairs($count, $seed)
            for name, each in (("before", w), ("after", normalized)):
                ratios = compute_lipschitz_ratios(build_operator_matrix(each, layer), *pairs)
                print(f"{name}: distances times {ratios.max():.8g} at most")
            """,
            count=PAIR_COUNT,
            seed=view["seed"],
        ),
    ]
    return PageScript("Spectral norm of a layer", cells, "train")


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {"norm": _build_weight_norm, "spectral": _build_spectral_norm}
