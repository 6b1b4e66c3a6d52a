"""The script of the page "Contrast": a picture in fading light, and divisive normalization of it."""

from normviz.export.scheme_code import OWN_TENSOR_FILE, format_sample_code, format_scheme_code
from normviz.export.script import Expression, PageScript, fill_script, format_call
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
        loaded = format_call("np.load", OWN_TENSOR_FILE)
        made, extras = Expression(f"import numpy as np\n\neven = {loaded}[:1].astype(float)"), ""
    else:
        key = view["data"] if view["data"] in state.SHAPES else state.FALLBACK_PICTURE
        made, extras = format_sample_code("even", key, state.SHAPES[key], view)
    values = {"made": made, "scheme": format_scheme_code(scheme), "pixel": focus}
    return fill_script("divisive", ["picture"], view | values, extras)
