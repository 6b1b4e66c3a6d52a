"""The script of the page "Backward pass": the gradient of a normalization, step by step, as formula and as matrix."""

from collections.abc import Callable
from typing import Any

from normviz.describe.wording import format_scheme_name
from normviz.export.scheme_code import LAYOUTS, format_scheme_code
from normviz.export.script import Expression, PageScript, fill_script, format_call
from normviz.topics.gradients import state
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    return PANEL_SCRIPTS[view["show"]](view)


def _build_chain(view: View) -> PageScript:
    x, dxhat = (state.parse_numbers(view[name]) for name in ("x", "dy"))
    scheme, mean, dmean = ("layer", "x.mean()", "-dv.sum()") if view["centred"] else ("rms", "0.0", "0.0")
    values = {"x": x, "dxhat": dxhat, "scheme": scheme, "mean": Expression(mean), "dmean": Expression(dmean)}
    return fill_script("gradients", ["graph"], view | values)


def _collect_values(view: View) -> dict[str, Any]:
    """Return the values of the scheme and its small tensor. Raises InvalidInput if the scheme does not fit it."""
    scheme, shape = state.get_page_scheme(view), state.get_tensor_shape(view)
    scheme.check(shape)
    words = {"name": format_scheme_name(scheme), "about": scheme.about}
    code = {"scheme": format_scheme_code(scheme), "layout": LAYOUTS[scheme.tensor]}
    return {**words, **code, "shape": shape, "seed": view["seed"], "eps": state.get_page_eps(view)}


def _build_answer(view: View) -> PageScript:
    task = state.build_exercise(view)
    task.scheme.check(task.tensor_shape)
    given = task.layout, task.shape, task.seed, task.dtype, task.eps
    values = {"name": format_scheme_name(task.scheme), "task": task.describe(), "layout": task.layout}
    values |= {"inputs": format_call("make_inputs", Expression("scheme"), *given)}
    return fill_script("gradients", ["answer"], values | {"scheme": format_scheme_code(task.scheme)})


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "graph": _build_chain,
    "formula": lambda view: fill_script("gradients", ["formula", "tensors", "gradient"], _collect_values(view)),
    "jacobian": lambda view: fill_script("gradients", ["jacobian", "tensors", "matrix"], _collect_values(view)),
    "answer": _build_answer,
}
