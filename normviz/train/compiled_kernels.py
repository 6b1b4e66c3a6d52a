"""The whole training of one network on a CPU, compiled by Numba: for the general form and pointwise functions.

Activations lie in memory as (C, H, W, N), so that inner loops run along examples. A layer is a linear map given by
`rows`, the starts of its inputs and of its units: out[c, y] = Σ_k w[k, c] · x[rows[k] + y · stride], for segments of
`length` numbers. A dense layer and a classifier have one segment for each unit, a convolution one for each row of an
image. Products hold some units and `LANES` examples in the processor's registers.

A normalized tensor is cut into rows of equal length, and `boxes` holds for every row the box of a field that it belongs
to. Within a row there is a statistic for every element, or for every one of some equal blocks.

Functions are compiled without reference counting, which costs as much as a short loop, so none may allocate.
"""

from math import cosh, erf, exp, floor, log, pi, sqrt, tanh
from typing import Any

import numpy as np
from numba import njit

from normviz.train.vector_operations import (
    LANES,
    add_product,
    clip,
    compute_power_of_two,
    fill,
    load,
    store,
    sum_lanes,
)

NONE, GENERAL, TANH, ERF = range(4)
"""Kinds of normalization of a tensor."""

SGD, MOMENTUM, ADAM = range(3)
"""Optimizers."""

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log₂ e, and ln 2 as a sum whose first number has few digits, so that its product with a small integer is exact."""

LEAST, TERMS = -700.0, 13
"""The smallest exponent of e, and the number of terms of the series of eʳ."""

OPTIONS: Any = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False, "fastmath": {"contract"}}
compile_kernel = njit(**OPTIONS)
"""Compile a function; a product and a sum may be rounded once."""


@compile_kernel
def _multiply(x, rows, step, w, out, out_rows, out_step, height, length, group, is_added):
    """Write out[c, y] = Σ_k w[k, c] x[k, y], or add it, for y in `height` segments of `length` numbers.

    The arguments are those of `_correlate`. Four c of a `group` are computed at once: their segments do not overlap.
    """
    count, width = w.shape
    for y in range(height):
        at, to = y * step, y * out_step
        for first in range(0, width, group):
            for c in range(first, first + group, 4):
                c1, c2, c3 = min(c + 1, first + group - 1), min(c + 2, first + group - 1), min(c + 3, first + group - 1)
                o, o1, o2, o3 = out_rows[c] + to, out_rows[c1] + to, out_rows[c2] + to, out_rows[c3] + to
                for i in range(0, length, LANES):
                    n = length - i if is_added else 0
                    s, s1, s2 = load(out, o + i, n), load(out, o1 + i, n), load(out, o2 + i, n)
                    s3 = load(out, o3 + i, n)
                    for k in range(count):
                        v = load(x, rows[k] + at + i, LANES)
                        s, s1 = add_product(s, fill(w[k, c]), v), add_product(s1, fill(w[k, c1]), v)
                        s2, s3 = add_product(s2, fill(w[k, c2]), v), add_product(s3, fill(w[k, c3]), v)
                    store(out, o + i, length - i, s)
                    store(out, o1 + i, length - i, s1)
                    store(out, o2 + i, length - i, s2)
                    store(out, o3 + i, length - i, s3)


@compile_kernel
def _correlate(x, rows, step, g, g_rows, g_step, out, height, length):
    """Write out[k, c] = Σ_y x[k, y] · g[c, y], the gradient of w, over `height` segments of `length` numbers.

    `rows`, `step`: the starts of all k in x, and the distance of segments. Four k and two c are computed at once; where
    fewer are left, the last is repeated.
    """
    count, width = out.shape
    for k in range(0, count, 4):
        k1, k2, k3 = min(k + 1, count - 1), min(k + 2, count - 1), min(k + 3, count - 1)
        for c in range(0, width, 2):
            d = min(c + 1, width - 1)
            s = s1 = s2 = s3 = t = t1 = t2 = t3 = load(g, 0, 0)
            for y in range(height):
                for i in range(0, length, LANES):
                    n, at, to = length - i, y * step + i, y * g_step + i
                    u, v = load(g, g_rows[c] + to, n), load(g, g_rows[d] + to, n)
                    x0, x1 = load(x, rows[k] + at, n), load(x, rows[k1] + at, n)
                    x2, x3 = load(x, rows[k2] + at, n), load(x, rows[k3] + at, n)
                    s, s1, s2 = add_product(s, x0, u), add_product(s1, x1, u), add_product(s2, x2, u)
                    t, t1, t2 = add_product(t, x0, v), add_product(t1, x1, v), add_product(t2, x2, v)
                    s3, t3 = add_product(s3, x3, u), add_product(t3, x3, v)
            out[k, c], out[k1, c], out[k2, c], out[k3, c] = sum_lanes(s), sum_lanes(s1), sum_lanes(s2), sum_lanes(s3)
            out[k, d], out[k1, d], out[k2, d], out[k3, d] = sum_lanes(t), sum_lanes(t1), sum_lanes(t2), sum_lanes(t3)


@compile_kernel
def _average_boxes(x, y, row_length, boxes, averages, per_row, divisor):
    """Write to `averages` the mean of x · y, or of x if y is None, over each set of `boxes`, over `divisor`."""
    size = row_length // per_row
    span, parts = (row_length, 1) if size == 1 else (size, per_row)
    averages[:] = 0.0
    for r in range(x.size // row_length):
        for j in range(parts):
            at, to, total = r * row_length + j * size, boxes[r] * per_row + j, load(x, 0, 0)
            for i in range(0, span, LANES):
                n = span - i
                u, v = fill(x.dtype.type(1)) if y is None else load(y, at + i, n), load(x, at + i, n)
                if size == 1:
                    store(averages, to + i, n, add_product(load(averages, to + i, n), u, v))
                else:
                    total = add_product(total, u, v)
            if size > 1:
                averages[to] += sum_lanes(total)
    divisor *= x.size // averages.size
    for i in range(averages.size):
        averages[i] /= divisor


@compile_kernel
def _add_boxes(x, y, row_length, boxes, factors, per_row, is_added):
    """Replace x by y, or 1 if y is None, times the factor of each element's box; add to x instead if `is_added`."""
    size = row_length // per_row
    span, parts = (row_length, 1) if size == 1 else (size, per_row)
    for r in range(x.size // row_length):
        for j in range(parts):
            at, to = r * row_length + j * size, boxes[r] * per_row + j
            factor = fill(factors[to])
            for i in range(0, span, LANES):
                n = span - i
                u, v = fill(x.dtype.type(1)) if y is None else load(y, at + i, n), load(x, at + i, n if is_added else 0)
                store(x, at + i, n, add_product(v, load(factors, to + i, n) if size == 1 else factor, u))


@compile_kernel
def _subtract_means(x, plan, boxes, work):
    """Subtract from x, or a gradient, its means over the summation field in `plan` and `boxes`; overwrite `work`."""
    if plan.a_boxes:
        mean = work[: plan.a_boxes * plan.a_count]
        _average_boxes(x, None, plan.length, boxes[0], mean, plan.a_count, -1.0)
        _add_boxes(x, None, plan.length, boxes[0], mean, plan.a_count, True)


@compile_kernel
def _normalize(x, plan, boxes, inverse, work):
    """Replace x by x̂ as `plan` says; write 1/divisor, or the argument of a function, to `inverse`; overwrite `work`."""
    if plan.kind == GENERAL:
        _subtract_means(x, plan, boxes, work)
        if plan.b_boxes:
            by_box = inverse[: plan.b_boxes * plan.b_count]
            _average_boxes(x, x, plan.length, boxes[1], by_box, plan.b_count, 1.0)
            for i in range(by_box.size):
                sigma = sqrt(by_box[i] + plan.eps)
                by_box[i] = 0.0 if sigma == 0.0 else plan.scale / sigma
            _add_boxes(x, x, plan.length, boxes[1], by_box, plan.b_count, False)
    elif plan.kind != NONE:
        for i in range(x.size):
            inverse[i] = plan.alpha * x[i] + plan.shift
            x[i] = tanh(inverse[i]) if plan.kind == TANH else erf(inverse[i])


@compile_kernel
def _backpropagate(g, xhat, plan, boxes, inverse, work):
    """Replace ∂L/∂x̂ in g by ∂L/∂x, with `inverse` from `_normalize`; overwrite `work`."""
    if plan.kind == GENERAL:
        if plan.b_boxes:
            by_box, average = inverse[: plan.b_boxes * plan.b_count], work[: plan.b_boxes * plan.b_count]
            _add_boxes(g, g, plan.length, boxes[1], by_box, plan.b_count, False)
            _average_boxes(g, xhat, plan.length, boxes[1], average, plan.b_count, -plan.scale * plan.scale)
            _add_boxes(g, xhat, plan.length, boxes[1], average, plan.b_count, True)
        _subtract_means(g, plan, boxes, work)
    elif plan.kind != NONE:
        for i in range(g.size):
            u = inverse[i]
            g[i] *= plan.alpha * (1.0 / cosh(u) ** 2 if plan.kind == TANH else 2.0 / sqrt(pi) * exp(-u * u))


@compile_kernel
def _compute_relu(xhat, gain, bias, out, length):
    """Write ReLU(γ x̂ + β) to `out`, with a γ and β for each channel of `length` numbers; NaN stays NaN."""
    for c in range(gain.size):
        a, b = fill(gain[c]), fill(bias[c])
        for i in range(0, length, LANES):
            y = add_product(b, a, load(xhat, c * length + i, LANES))
            store(out, c * length + i, length - i, clip(y, y))


@compile_kernel
def _backpropagate_activation(g, xhat, out, gain, by_gain, by_bias, length):
    """Replace ∂L/∂out in g by ∂L/∂x̂, for out = ReLU(γ x̂ + β); write the gradients of γ and β."""
    for c in range(gain.size):
        s, t, a, zero = load(g, 0, 0), load(g, 0, 0), fill(gain[c]), load(g, 0, 0)
        for i in range(0, length, LANES):
            at, n = c * length + i, length - i
            y = clip(load(g, at, n), load(out, at, n))
            s, t = add_product(s, fill(g.dtype.type(1)), y), add_product(t, load(xhat, at, n), y)
            store(g, at, n, add_product(zero, a, y))
        by_bias[c], by_gain[c] = sum_lanes(s), sum_lanes(t)


@compile_kernel
def _exponentiate(x):
    """Return eˣ = 2ᵏ eʳ with |r| ≤ ½ ln 2, for x ≤ 0."""
    v = LEAST if x < LEAST else x
    k = floor(v * LOG2_E + 0.5)
    r, t = v - k * LN2_HIGH - k * LN2_LOW, 1.0
    for n in range(TERMS, 0, -1):
        t = 1.0 + t * r * (1.0 / n)
    return t * compute_power_of_two(k)


@compile_kernel
def _compute_loss(logits, bias, labels, by_bias, maxima, totals):
    """Return the mean cross-entropy of logits (classes, N) + bias; write the gradients to `logits` and `by_bias`."""
    classes, batch = logits.shape
    maxima[:batch], totals[:batch], loss = -np.inf, 0.0, 0.0
    for c in range(classes):
        row = logits[c]
        for n in range(batch):
            row[n] += bias[c]
            maxima[n] = row[n] if row[n] > maxima[n] else maxima[n]
    for n in range(batch):
        loss -= logits[labels[n], n] - maxima[n]
    for c in range(classes):
        row = logits[c]
        for n in range(batch):
            row[n] = _exponentiate(row[n] - maxima[n])
            totals[n] += row[n]
    for n in range(batch):
        loss += log(totals[n])
    for c in range(classes):
        row = logits[c]
        for n in range(batch):
            row[n] = (row[n] / totals[n] - (1.0 if labels[n] == c else 0.0)) / batch
        total_of_class = load(row, 0, 0)
        for n in range(0, batch, LANES):
            total_of_class = add_product(total_of_class, fill(row.dtype.type(1)), load(row, n, batch - n))
        by_bias[c] = sum_lanes(total_of_class)
    return loss / batch


@compile_kernel
def _update_parameters(p, g, rates, state, tensors, optimizer, powers, work):
    """Update all parameters p and the optimizer's state by gradients g, as `optimizers` does; overwrite `work`."""
    method, momentum, beta1, beta2, tiny, noise = optimizer
    if method == SGD:
        for i in range(p.size):
            p[i] -= rates[i] * g[i]
    elif method == MOMENTUM:
        m = state[0]
        for i in range(p.size):
            m[i] = momentum * m[i] + g[i]
            p[i] -= rates[i] * m[i]
    else:
        m, v, first, second = state[0], state[1], 1 - powers[0], 1 - powers[1]
        for begin, count, width in tensors:
            scale, most = work[:width], 0.0
            scale[:] = 0.0 if count > 1 else 1.0
            for i in range(count * width if count > 1 else 0):
                size = abs(p[begin + i])
                scale[i % width] = scale[i % width] if size <= scale[i % width] else size
            for i in range(count * width):
                size = abs(g[begin + i]) * scale[i % width]
                most = most if size <= most else size
            for i in range(begin, begin + count * width):
                y = g[i] if abs(g[i]) * scale[(i - begin) % width] > noise * most else 0.0
                m[i] += (1 - beta1) * (y - m[i])
                v[i] = v[i] * beta2 + (1 - beta2) * y * y
                p[i] -= rates[i] * ((m[i] / first) / (sqrt(v[i] / second) + tiny))


@compile_kernel
def train_network(batches, network, layout, norms, optimizer, buffers):
    """Train one network on some mini-batches: update its parameters and the state of its optimizer, store its losses.

    Args:
        batches: images (steps, pixels · N and more), labels (steps, N), powers of Adam's β₁ and β₂ (steps, 2).
        network: factor and shift of its images, (2, pixels · N), or (2, 0) for none; its parameters and their learning
            rates, flat; moments of its optimizer, (moments, parameters); losses before every update, (steps,).
        layout: all layers and the classifier; starts of segments; start, fan-in and units of every parameter tensor.
        norms: normalization of activations (0) and weights (1) of every layer, (2, layers), and boxes, (2, layers, 2,
            rows).
        optimizer: its key and numbers; the last one is the share of the largest gradient that is only rounding.
        buffers: seven arrays, each with a place for all activations and parameters.
    """
    (images, labels, powers), (changes, p, rates, state, losses), (layers, rows, segments) = batches, network, layout
    (tensors, boxes), (inputs, xhats, inverses, slopes, gradient, used, inverse) = norms, buffers
    last, is_plain = len(layers) - 1, changes.size == 0
    for step in range(len(images)):
        for i in range(changes.shape[1]):
            inputs[i] = images[step, i] * changes[0, i] + changes[1, i]
        x = images[step] if is_plain else inputs
        for i in range(last + 1):
            layer = layers[i]
            count, width, height, length = layer.count, layer.width, layer.height, layer.length
            w = p[layer.weight :][: count * width]
            if tensors[1, i].kind != NONE:
                for j in range(w.size):
                    used[layer.weight + j] = w[j]
                w = used[layer.weight :][: w.size]
                _normalize(w, tensors[1, i], boxes[1, i], inverse[layer.weight :], gradient)
            out, w, units = xhats[layer.end :][: width * height * length], w.reshape(count, width), rows[layer.units :]
            _multiply(x, rows[layer.rows :], layer.stride, w, out, units, length, height, length, width, False)
            if i < last:
                _normalize(out, tensors[0, i], boxes[0, i], inverses[layer.end :], slopes)
                x = inputs[layer.end :]
                _compute_relu(out, p[layer.gain :][:width], p[layer.bias :], x, height * length)
        g, work = out, inputs[layer.end :]
        losses[step] = _compute_loss(
            g.reshape(width, length), p[layer.bias :], labels[step], gradient[layer.bias :], slopes, work
        )
        for i in range(last, -1, -1):
            layer = layers[i]
            count, width, height, length = layer.count, layer.width, layer.height, layer.length
            taps, units, work = rows[layer.rows :], rows[layer.units :], inputs[layer.end :]
            if i < last:
                xhat, gain, bias = xhats[layer.end :][: g.size], layer.gain, layer.bias
                of_gain, of_bias = gradient[gain:], gradient[bias:]
                _backpropagate_activation(g, xhat, work, p[gain:][:width], of_gain, of_bias, height * length)
                _backpropagate(g, xhat, tensors[0, i], boxes[0, i], inverses[layer.end :], work)
            x, of_w = images[step] if is_plain and i == 0 else inputs[layer.begin :], gradient[layer.weight :]
            of_w = of_w[: count * width]
            _correlate(x, taps, layer.stride, g, units, length, of_w.reshape(count, width), height, length)
            w = (p if tensors[1, i].kind == NONE else used)[layer.weight :][: count * width]
            if i:
                into = slopes[layer.begin : layer.end]
                into[:] = 0.0
                w_t = w.reshape(count, width).T
                _multiply(g, units, length, w_t, into, taps, layer.stride, height, length, layer.channels, True)
                g = into
            if tensors[1, i].kind != NONE:
                _backpropagate(of_w, w, tensors[1, i], boxes[1, i], inverse[layer.weight :], work)
        _update_parameters(p, gradient, rates, state, segments, optimizer, powers[step], slopes)
