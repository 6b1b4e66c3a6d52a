"""Table 1 trained by JAX, as one who knows it would: `vmap` over networks, `scan` over steps, `jit` around all."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import paths  # noqa: F401  (normviz)

from normviz.core.fields import Shape
from normviz.core.normalize import normalize
from normviz.core.registry import Scheme
from normviz.train.compiled import locate_input_pixels
from normviz.train.problem import TrainingProblem, make_problem
from normviz.train.setting import INITIAL_BIAS, Setting

jax.config.update("jax_enable_x64", True)


def _apply_scheme(scheme: Scheme | None, x: jax.Array, eps: float, shape: Shape) -> jax.Array:
    """Normalize as one would write it, or by normviz's function where fields have groups or windows."""
    if scheme is None or not scheme.has_effect:
        return x
    fields = [field.simplify(shape) for field in scheme.fields]
    if scheme.kind.key != "general" or any(
        rule.kind not in ("own", "full") for field in fields for rule in field.rules
    ):
        return normalize(x, scheme, eps).xhat
    a, b = scheme.summation, scheme.suppression
    v = x if a is None else x - x.mean(_find_full_axes(a.simplify(shape)), keepdims=True)
    if b is None:
        return v
    variance = (v * v).mean(_find_full_axes(b.simplify(shape)), keepdims=True)
    return v * (jax.lax.rsqrt(variance + eps) * scheme.compute_scale(shape))


def _find_full_axes(field: Any) -> tuple[int, ...]:
    return tuple(axis for axis, rule in enumerate(field.rules) if rule.kind == "full")


@lru_cache(maxsize=64)
def _compile_training(scheme: Scheme, setting: Setting, dtype: str, own_convolution: bool) -> Callable[..., jax.Array]:
    """Return the compiled training of all networks of one scheme, which returns losses (networks, steps)."""
    shape, width = setting.shapes[0], setting.width

    def compute_loss(p: dict[str, jax.Array], x: jax.Array, labels: jax.Array) -> jax.Array:
        w = _apply_scheme(scheme.weight_part, p["w"], 0.0, setting.weight_shapes[0])
        if own_convolution:
            layout = ("NHWC", "HWIO", "NHWC")
            a = jax.lax.conv_general_dilated(x, w, (1, 1), "VALID", dimension_numbers=layout)
        else:
            a = (x.reshape(-1, x.shape[-1]) @ w.reshape(-1, width)).reshape(shape)
        xhat = _apply_scheme(scheme.activation_part, a, setting.eps, shape)
        h = jax.nn.relu(p["gain"] * xhat + p["bias"])
        logits = h.reshape(shape[0], -1) @ p["classifier"] + p["offset"]
        chosen = jnp.take_along_axis(logits, labels[:, None], 1)[:, 0]
        return (jax.nn.logsumexp(logits, -1) - chosen).mean()

    def train(
        w: jax.Array, rate: jax.Array, factor: jax.Array, shift: jax.Array, classifier: jax.Array, inputs: jax.Array,
        labels: jax.Array, order: jax.Array,
    ) -> jax.Array:  # fmt: skip
        p = {
            "w": w, "gain": jnp.ones(width, dtype), "bias": jnp.full(width, INITIAL_BIAS, dtype),
            "classifier": classifier, "offset": jnp.zeros(10, dtype),
        }  # fmt: skip
        rates = {name: rate if name == "w" else setting.rate for name in p}

        def step(p: dict[str, jax.Array], chosen: jax.Array) -> tuple[dict[str, jax.Array], jax.Array]:
            x = inputs[chosen] * factor + shift
            loss, gradient = jax.value_and_grad(compute_loss)(p, x, labels[chosen])
            return {name: p[name] - rates[name] * gradient[name] for name in p}, loss

        return jax.lax.scan(step, p, order)[1]

    return jax.jit(jax.vmap(train, (0, 0, 0, 0, None, None, None, None)))


def train_with_jax(
    schemes: Sequence[Scheme],
    setting: Setting,
    networks: Sequence[int],
    dtype: str = "float64",
    own_convolution: bool = False,
) -> np.ndarray:
    """Train all schemes; the first call compiles. With `own_convolution`, JAX's instead of a product of patches."""
    problem, losses = make_problem(setting, networks), []
    inputs, factor, shift = (
        find_images(problem, setting) if own_convolution else (problem.inputs, problem.factor, problem.shift)
    )
    arrays = problem.weights[0], problem.rates[0], factor, shift, problem.classifier, inputs
    moved = [jnp.asarray(array, dtype) for array in arrays]
    for scheme in schemes:
        compiled = _compile_training(scheme, setting, dtype, own_convolution)
        losses.append(compiled(*moved, jnp.asarray(problem.labels), jnp.asarray(problem.order)))
    return np.stack([np.asarray(each).T for each in losses], 1)


def find_images(problem: TrainingProblem, setting: Setting) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return images (n, 8, 8, 1), and factor and shift that broadcast against them, from a problem's patches."""
    images = problem.inputs[:, *locate_input_pixels(setting)].reshape(-1, 8, 8, 1)
    return images, problem.factor[..., None], problem.shift[:, :, :, :1, None]
