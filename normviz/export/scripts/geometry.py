"""The script of the page "Step size": layer norm of three numbers, or effective learning rate."""

from collections.abc import Callable

from normviz.core.settings import build_settings
from normviz.export.scheme_code import format_settings_code
from normviz.export.script import PageScript, make_code, make_text
from normviz.topics.geometry.rate import RateSetting
from normviz.topics.geometry.three_channels import INCOMING_GRADIENT, LEARNING_RATE, ThreeChannelExample
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    return PANEL_SCRIPTS[view["show"]](view)


def _build_vectors(view: View) -> PageScript:
    example = build_settings(ThreeChannelExample, view)
    cells = [
        make_text("One example with three channels is a vector in space. Layer norm has two steps."),
        make_code(
            """
            import numpy as np
            import normviz

            x = np.array($tolist)
            eps = $eps
            one = normviz.normalize(x[None], "layer", eps, layout="NC")
            print(f"mean = {one.mean.item():.8g}, divisor = {one.deviation.item():.8g}")
            print("v = x − mean =", one.v[0])
            print("x̂ = v / divisor =", one.xhat[0])
            """,
            tolist=example.x.tolist(),
            eps=example.eps,
        ),
        make_text(
            "v lies on the plane of vectors whose sum is 0. At ε = 0, x̂ lies on a circle of radius √3 in that plane."
        ),
        make_code('print("sum of v:", one.v.sum(), " length of x̂:", np.linalg.norm(one.xhat))'),
        make_text("A step of gradient descent turns x̂. The shorter v is, the further the same rate turns it."),
        make_code(
            """
            dxhat, rate = np.array($dxhat), $rate
            for name, start in (("v", x), ("½ v", x / 2)):
                change = -rate * normviz.backward(start[None], dxhat[None], "layer", eps, layout="NC")[0]
                a = normviz.normalize(start[None], "layer", eps, layout="NC").xhat[0]
                b = normviz.normalize((start + change)[None], "layer", eps, layout="NC").xhat[0]
                angle = np.degrees(np.arctan2(np.linalg.norm(np.cross(a, b)), a @ b))
                print(f"{name}: the step is {np.linalg.norm(change):.8g} long and turns it by {angle:.8g}°")
            """,
            dxhat=list(INCOMING_GRADIENT),
            rate=LEARNING_RATE,
        ),
    ]
    return PageScript("Layer norm in three dimensions", cells)


def _build_rate(view: View) -> PageScript:
    setting = build_settings(RateSetting, view)
    cells = [
        make_text("With batch norm the loss does not depend on the length of W, and every step of SGD makes W longer."),
        make_code(
            """
            from normviz.topics.geometry.rate import (
                RateSetting, measure_pythagoras_gap, measure_twin_gaps, train_single
            )

            setting = $setting
            print(setting)
            curves = train_single(setting)
            grown = curves.length[-1, 0] / curves.length[0, 0] - 1
            shrunk = 1 - curves.effective_rates[-1, 0] / curves.effective_rates[0, 0]
            print(f"W gets {100 * grown:.4g}% longer. η/‖W‖² falls by {100 * shrunk:.4g}%.")
            print(f"‖W′‖² = ‖W‖² + η²‖∂L/∂W‖² holds up to {measure_pythagoras_gap(curves):.2g}.")
            """,
            setting=format_settings_code(setting, "RateSetting"),
        ),
        make_text(
            "A twin is the same network, but its W starts δ times as long. By how much do its scores differ at the "
            "learning rates η, η · δ and η · δ²?"
        ),
        make_code(
            """
            for optimizer in ("sgd", "adam"):
                gaps = measure_twin_gaps(setting, optimizer)
                print(optimizer, ", ".join(f"δ^{power}: {gap:.2g}" for power, gap in gaps.items()))
            """
        ),
    ]
    return PageScript("The effective learning rate", cells, "train")


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {"vectors": _build_vectors, "rate": _build_rate}
