"""The script of the page "Backward pass": the gradient of a normalization, step by step, as formula and as matrix."""

from collections.abc import Callable

from normviz.describe.wording import format_scheme_name
from normviz.export.scheme_code import LAYOUTS, format_scheme_code
from normviz.export.script import Expression, PageScript, ScriptCell, format_call, make_code, make_text
from normviz.topics.gradients import state
from normviz.ui.link import View


def build_script(view: View) -> PageScript:
    """Return the Python script of the panel that `view` opens."""
    return PANEL_SCRIPTS[view["show"]](view)


def _build_chain(view: View) -> PageScript:
    x, dxhat = (state.parse_numbers(view[name]) for name in ("x", "dy"))
    scheme, mean = ("layer", "x.mean()") if view["centred"] else ("rms", "0.0")
    dmean = "-dv.sum()" if view["centred"] else "0.0"
    cells = [
        make_text("The numbers x share their statistics. The rest of the network gives ∂L/∂x̂."),
        make_code("import normviz\nimport numpy as np\n\nx = np.array($x)\ndxhat = np.array($dxhat)", x=x, dxhat=dxhat),
        make_text("Forward: subtract the mean (RMS norm: 0), then divide by s = √(σ² + ε)."),
        make_code(
            """
            eps = $eps
            mean = $mean
            v = x - mean
            variance = (v**2).mean()
            s = np.sqrt(variance + eps)
            inverse = 1 / s if s else 0.0  # 0/0 counts as 0
            print(f"mean = {mean:.8g}, variance = {variance:.8g}, s = {s:.8g}")
            print("x̂ =", v * inverse)
            """,
            eps=view["eps"],
            mean=Expression(mean),
        ),
        make_text("Backward: paths lead from x̂ to x directly, through the variance and, in layer norm, the mean."),
        make_code(
            """
            ds = -(dxhat * v).sum() * inverse**2
            dvariance = ds * inverse / 2
            dv = dxhat * inverse + dvariance * 2 * v / len(x)
            dmean = $dmean
            dx = dv + dmean / len(x)
            print(f"∂L/∂s = {ds:.8g}, ∂L/∂σ² = {dvariance:.8g}, ∂L/∂μ = {dmean:.8g}")
            print("∂L/∂x =", dx)
            """,
            dmean=Expression(dmean),
        ),
        make_text("The library computes the same for one example."),
        make_code(
            """
            same = normviz.backward(x[None], dxhat[None], $scheme, eps, layout="NC")[0]
            print("normviz:", same)
            assert np.allclose(same, dx)
            """,
            scheme=scheme,
        ),
    ]
    return PageScript("The backward pass, step by step", cells)


def _build_formula(view: View) -> PageScript:
    scheme = state.get_page_scheme(view)
    cells = [
        make_text("A small tensor x, the gradient ∂L/∂y that arrives, and γ."),
        _build_small_tensors(view),
        make_text(f"The gradient through {format_scheme_name(scheme)}. {scheme.about}"),
        make_code(
            """
            eps = $eps
            dx = normviz.backward(x, dy, scheme, eps, gain, layout=$layout)
            d = gain * dy  # ∂L/∂x̂
            for name, gradient in (("d = ∂L/∂x̂", d), ("∂L/∂x", dx)):
                print(f"{name}: largest {abs(gradient).max():.4g}, sum {gradient.sum():.4g}", end=", ")
                print(f"sum of x times it {(x * gradient).sum():.4g}")
            """,
            eps=state.get_page_eps(view),
            layout=LAYOUTS[scheme.tensor],
        ),
        make_text("Central differences of the loss confirm the formula."),
        make_code(
            """
            from normviz.topics.gradients.small import compare_gradients

            compared = compare_gradients(scheme, tensors, eps)
            gap = abs(compared.differences["dx"] - dx).max() / compared.frozen
            print(f"difference of ∂L/∂x from central differences: {gap:.2g}")
            """
        ),
    ]
    return PageScript(f"The gradient of {format_scheme_name(scheme)}", cells)


def _build_jacobian(view: View) -> PageScript:
    scheme = state.get_page_scheme(view)
    cells = [
        make_text("A small tensor x."),
        _build_small_tensors(view),
        make_text(
            f"The matrix of all ∂x̂/∂x of {format_scheme_name(scheme)}. Row i, column j says how x̂ᵢ changes with xⱼ. So "
            "row i is the gradient of x̂ᵢ: the backward pass of the unit vector i."
        ),
        make_code(
            """
            import numpy as np

            eps = $eps
            rows = [
                normviz.backward(x, unit.reshape(x.shape), scheme, eps, layout=$layout).ravel()
                for unit in np.eye(x.size)
            ]
            jacobian = np.array(rows)
            print("shape:", jacobian.shape)
            print("nonzero in each row:", (abs(jacobian) > 1e-9 * abs(jacobian).max()).sum(1))
            print("first row:", jacobian[0])
            """,
            eps=state.get_page_eps(view),
            layout=LAYOUTS[scheme.tensor],
        ),
    ]
    return PageScript(f"The Jacobian matrix of {format_scheme_name(scheme)}", cells)


def _build_small_tensors(view: View) -> ScriptCell:
    """Return the code cell that makes the small tensor. Raises InvalidInput if the scheme does not fit it."""
    scheme, shape = state.get_page_scheme(view), state.get_tensor_shape(view)
    scheme.check(shape)
    return make_code(
        """
        import normviz
        from normviz.topics.gradients.small import make_small_tensors

        scheme = $scheme
        tensors = make_small_tensors(scheme, $shape, seed=$seed)
        x, dy, gain, bias = tensors
        """,
        scheme=format_scheme_code(scheme),
        shape=shape,
        seed=view["seed"],
    )


def _build_answer(view: View) -> PageScript:
    task = state.build_exercise(view)
    task.scheme.check(task.tensor_shape)
    cells = [
        make_text(f"Compute out = γ x̂ + β by {task.describe()}, and the gradient dx from dout."),
        make_code(
            """
            import normviz
            from normviz.topics.gradients.answers import judge_answer, make_inputs

            scheme = $scheme
            inputs = $inputs
            x, gamma, beta, dout = (inputs[name] for name in ("x", "gamma", "beta", "dout"))
            eps = float(inputs["eps"])
            print("x:", x.shape, "largest:", x.max())
            """,
            scheme=format_scheme_code(task.scheme),
            inputs=format_call(
                "make_inputs", Expression("scheme"), task.layout, task.shape, task.seed, task.dtype, task.eps
            ),
        ),
        make_text("Replace these two lines by your own."),
        make_code(
            """
            out = normviz.normalize(x, scheme, eps, gamma, beta, layout=$layout).y
            dx = normviz.backward(x, dout, scheme, eps, gamma, layout=$layout)
            """,
            layout=task.layout,
        ),
        make_text("The check of the page: right, or the mistake that explains your numbers."),
        make_code(
            """
            found = judge_answer(scheme, $layout, inputs, {"out": out, "dx": dx}, eps)
            for name, verdict in found.items():
                print(name, "is right." if verdict.right else f"is wrong. {verdict.explanation}")
            """,
            layout=task.layout,
        ),
    ]
    return PageScript(f"Homework: {format_scheme_name(task.scheme)}", cells)


PANEL_SCRIPTS: dict[str, Callable[[View], PageScript]] = {
    "graph": _build_chain,
    "formula": _build_formula,
    "jacobian": _build_jacobian,
    "answer": _build_answer,
}
