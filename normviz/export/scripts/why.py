"""The script of the page "Why normalize": the numbers of the open panel."""

from collections.abc import Callable

from normviz.core.settings import build_settings
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, ScriptCell, format_call, make_code, make_text
from normviz.topics.why import saturation
from normviz.topics.why.identity import SHAPE
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    return PANEL_SCRIPTS[view["show"]](view)


def _build_learning(view: View) -> PageScript:
    setting = saturation.Setting(start=view["start"], rate=view["rate"], seed=view["seed"])
    cells = [
        make_text(f"Deep sigmoid networks learn digits, {saturation.SEEDS} with batch norm and as many without it."),
        _build_learned_cell(setting),
        make_text("Test accuracy at the end: the mean over the networks, then each network."),
        make_code(
            """
            for name, run in learned.items():
                print(f"{name}: {run.accuracy[-1].mean():.1%}", run.accuracy[-1].round(3))
            """
        ),
        make_text("At how many learning rates do the networks of all seeds learn? These results are shipped, too."),
        make_code(
            """
            from normviz.topics.why.learning import find_shipped_sweeps

            for name, sweep in (find_shipped_sweeps(setting) or {}).items():
                seeds, rates = sweep.accuracy.shape[1], len(sweep.accuracy)
                print(f"{name}: all {seeds} networks learn at {sweep.robust_count} of {rates} learning rates", end=", ")
                print("mean accuracies", sweep.accuracy.mean(1).round(3))
            """
        ),
    ]
    return PageScript("Deep networks with and without batch norm", cells, "train")


def _build_learned_cell(setting: saturation.Setting) -> ScriptCell:
    """Return the code cell that assigns `learned`: the results of networks with and without batch norm."""
    return make_code(
        """
        from normviz.topics.why.learning import KIND_NAMES, find_shipped_results
        from normviz.topics.why.saturation import Setting, train_and_measure

        setting = $setting
        print(setting)
        learned = find_shipped_results(setting)  # computed in advance, for some settings
        if learned is None:  # trains for a minute
            learned = {name: train_and_measure(setting, normed).final_results for normed, name in KIND_NAMES.items()}
        """,
        setting=format_settings_code(setting),
    )


def _build_saturation(view: View) -> PageScript:
    cells = [
        make_text("Deep sigmoid networks learn digits, with batch norm and without it."),
        _build_learned_cell(build_settings(saturation.Setting, view)),
        make_text("One network of each kind, watched while it learns: 15%, 50% and 85% quantiles of a unit's input."),
        make_code(
            """
            layer, unit = $layer, $unit
            for normed, name in KIND_NAMES.items():
                quantiles = train_and_measure(setting, normed, seeds=1).quantiles[:, :, layer, unit]
                print(f"{name}: first {quantiles[0]}, last {quantiles[-1]}", end=", ")
                print(f"the median moves by {quantiles[:, 1].max() - quantiles[:, 1].min():.3g}")
            """,
            layer=view["layer"],
            unit=view["unit"],
        ),
        make_text("The share of saturated inputs by layer at the end, a mean over the networks."),
        make_code(
            """
            for name, run in learned.items():
                print(name, [f"{share:.1%}" for share in run.saturated.mean(0)])
            """
        ),
    ]
    return PageScript("Saturated units with and without batch norm", cells, "train")


def _build_whitening(view: View) -> PageScript:
    if view["points"] == "digits":
        made = format_call("whitening.compute_digit_features", view["first"], view["second"])
    else:
        made = format_call("whitening.sample_normal_cloud", view["correlation"], view["ratio"], view["seed"])
    cells = [
        make_text("A cloud of points with two features, (examples, 2)."),
        make_code(
            """
            from normviz.topics.why import whitening

            x = $made
            """,
            made=made,
        ),
        make_text("Its covariance and correlation, as they are and after the stage of the page."),
        make_code(
            """
            eps = $eps
            made = whitening.STAGES[$stage](x, eps)
            for name, each in (("before", x), (f"after, ε = {eps:g}", made)):
                covariance = whitening.compute_covariance(each)
                print(f"{name}: correlation {whitening.compute_correlation(covariance):.8g}, covariance")
                print(covariance)
            """,
            stage=view["stage"],
            eps=view["eps"],
        ),
        make_text("Each mini-batch has a covariance of its own."),
        make_code(
            """
            covariances = whitening.compute_covariance(whitening.sample_mini_batches(x, $size, $seed))
            scatter = covariances[:, 0, 0].std() / whitening.compute_covariance(x)[0, 0]
            print(f"the variance of the first feature scatters by {scatter:.0%} over {len(covariances)} mini-batches")
            """,
            size=view["size"],
            seed=view["seed"],
        ),
    ]
    return PageScript("Whitening, and its simplification to batch norm", cells, "train")


def _build_outside(view: View) -> PageScript:
    cells = [
        make_text(
            "Gradient descent on a bias b in front of x̂ = x − E[x]. At first the gradient takes E[x] for a constant."
        ),
        make_code(
            """
            from normviz.topics.why.outside import descend_bias

            for inside in (False, True):
                run = descend_bias($step_size, $steps, $seed, inside)
                print("inside the gradient:" if inside else "outside of it:", f"b ends at {run.b[-1]:.8g}", end=", ")
                print(f"the loss goes from {run.losses[0]:.8g} to {run.losses[-1]:.8g}")
            """,
            step_size=view["step_size"],
            steps=view["steps"],
            seed=view["seed"],
        ),
    ]
    return PageScript("Normalization outside of the gradient", cells)


def _build_identity(view: View) -> PageScript:
    cells = [
        make_text("Feature maps of digits, (N, H, W, C), and batch norm."),
        make_code(
            """
            import normviz
            from normviz.data.samples import sample_digit_features

            x, eps = $x, $eps
            plain = normviz.normalize(x, "batch", eps, layout="NHWC")
            """,
            x=format_call("sample_digit_features", SHAPE, seed=view["seed"]),
            eps=view["eps"],
        ),
        make_text("γ and β move towards √(σ² + ε) and μ, which undo the normalization."),
        make_code(
            """
            part = $part
            gain, bias = 1 + part * (plain.deviation - 1), part * plain.mean
            y = normviz.normalize(x, "batch", eps, gain, bias, layout="NHWC").y
            print(f"y differs from x by up to {abs(y - x).max():.2g}")
            for name, each in (("μ", plain.mean), ("√(σ²+ε)", plain.deviation), ("γ", gain), ("β", bias)):
                print(name, each.ravel())
            """,
            part=view["part"],
        ),
    ]
    return PageScript("γ and β can undo batch norm", cells, "train")


def _build_history(view: View) -> PageScript:
    cells = [
        make_text("All schemes in the order of their papers."),
        make_code(
            """
            from normviz.topics.why.history import sort_schemes

            for scheme in sort_schemes():
                print(f"{scheme.label}: {scheme.about} {scheme.reference.text}, {scheme.reference.url}")
            """
        ),
    ]
    return PageScript("All schemes by their papers", cells)


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "learning": _build_learning,
    "saturation": _build_saturation,
    "whitening": _build_whitening,
    "outside": _build_outside,
    "identity": _build_identity,
    "history": _build_history,
}
