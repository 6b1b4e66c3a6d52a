"""The script of the page "Contrast": a picture in fading light, and divisive normalization of it."""

from normviz.export.scheme_code import OWN_TENSOR_FILE, format_sample_code, format_scheme_code
from normviz.export.script import PageScript, format_call, make_code, make_text
from normviz.topics.divisive import state
from normviz.topics.divisive.contrast import apply_fading_light
from normviz.ui.link import View
from normviz.ui.tensor import has_own_tensor


def build_script(view: View) -> PageScript:
    """Return the Python script of the page's state `view`."""
    scheme, even = state.build_windowed_scheme(view), state.get_evenly_lit_picture(view)
    x = apply_fading_light(even, view["light"])
    focus = state.find_focus(view, state.normalize_picture(x, scheme, view["eps"]).v)
    if has_own_tensor(view):
        made = f"import numpy as np\n\neven = {format_call('np.load', OWN_TENSOR_FILE)}[:1].astype(float)"
        extras = ""
    else:
        key = view["data"] if view["data"] in state.SHAPES else state.FALLBACK_PICTURE
        made, extras = format_sample_code("even", key, state.SHAPES[key], view)
    cells = [
        make_text("A picture (1, H, W, C). Its light fades from left to right."),
        make_code(
            f"import normviz\nfrom normviz.topics.divisive.contrast import apply_fading_light, compute_contrast_ratio\n"
            f"{made}\nx = apply_fading_light(even, $light)",
            light=view["light"],
        ),
        make_text("Divide each pixel, minus the mean nearby, by the root of ε plus the mean square nearby."),
        make_code(
            """
            scheme = $scheme
            result = normviz.normalize(x, scheme, eps=$eps, layout="NHWC")
            before, after = compute_contrast_ratio(result.v), compute_contrast_ratio(result.xhat)
            print(f"contrast of the right half, with ε = $eps: {before:.0%} of the left half's, then {after:.0%}")
            """,
            scheme=format_scheme_code(scheme),
            eps=view["eps"],
        ),
        make_text("The chosen pixel. If all pixels are multiplied by a large number, its x̂ saturates."),
        make_code(
            """
            from normviz.core.statistics import compute_saturation

            pixel = $pixel
            curve = compute_saturation(x, scheme, pixel)
            print(f"pixel: {x[pixel]:.8g}, v: {curve.v:.8g}, mean square nearby: {curve.root**2:.8g}")
            print(f"x̂: {result.xhat[pixel]:.8g}, saturated at {curve.level:.8g}")
            """,
            pixel=focus,
        ),
    ]
    return PageScript("Divisive normalization of a picture", cells, extras)
