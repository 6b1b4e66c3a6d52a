"""A whole run of one network in machine code, compiled by Numba: the general form and pointwise schemes, in float64.

Activations are stored as (C, H, W, N), flat, so that inner loops run along examples. A layer is a linear map given by
`taps`: out[c, y] = Σ_k w[k, c] · x[taps[k] + y · stride], for segments of `length` numbers (W' · N). One map covers dense
layers and classifiers (one segment for each unit) and convolutions (one segment for each row of an image).

A normalized tensor is cut into rows of equal length; `boxes` holds the box of a field that each row belongs to. Within
a row, statistics are one for each element, one for all, or one for each of some equal blocks.
"""

from math import cosh, erf, exp, floor, log, pi, sqrt, tanh
from typing import Any

import numpy as np
from numba import njit

Array = np.ndarray[Any, Any]

NONE, GENERAL, TANH, ERF = range(4)
"""What a tensor is normalized by."""

SGD, MOMENTUM, ADAM = range(3)
"""Optimizers."""

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log₂ e, and ln 2 as the sum of two numbers, the first with so few digits that its products with k are exact."""

LEAST, TERMS = -700.0, 13
"""The smallest exponent of e, and how many terms of the series of eʳ are summed."""

OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}
EXACT = njit(**OPTIONS, fastmath={"contract"})
"""Compiles a function; a product and a sum may become one operation with one rounding."""

SUMS = njit(**OPTIONS, fastmath={"contract", "reassoc"})
"""Compiles a function whose sums may be taken in any order, so that they are vectorized."""


@EXACT
def _apply_map(x, taps, stride, w, out, height, length):  # type: ignore[no-untyped-def]
    """Compute out[c, y] = Σ_k w[k, c] x[k, y]."""
    count, width = w.shape
    out[:] = 0.0
    for y in range(height):
        at = y * stride
        full = count - count % 8
        for k in range(0, full, 8):
            x0, x1 = x[taps[k] + at :][:length], x[taps[k + 1] + at :][:length]
            x2, x3 = x[taps[k + 2] + at :][:length], x[taps[k + 3] + at :][:length]
            x4, x5 = x[taps[k + 4] + at :][:length], x[taps[k + 5] + at :][:length]
            x6, x7 = x[taps[k + 6] + at :][:length], x[taps[k + 7] + at :][:length]
            for c in range(width):
                o = out[(c * height + y) * length :][:length]
                w0, w1, w2, w3 = w[k, c], w[k + 1, c], w[k + 2, c], w[k + 3, c]
                w4, w5, w6, w7 = w[k + 4, c], w[k + 5, c], w[k + 6, c], w[k + 7, c]
                for i in range(length):
                    o[i] += (
                        w0 * x0[i] + w1 * x1[i] + w2 * x2[i] + w3 * x3[i]
                        + w4 * x4[i] + w5 * x5[i] + w6 * x6[i] + w7 * x7[i]
                    )  # fmt: skip
        for k in range(full, count):
            x0 = x[taps[k] + at :][:length]
            for c in range(width):
                o, w0 = out[(c * height + y) * length :][:length], w[k, c]
                for i in range(length):
                    o[i] += w0 * x0[i]


@EXACT
def _apply_transpose(g, taps, stride, w, out, height, length):  # type: ignore[no-untyped-def]
    """Compute ∂L/∂x[k, y] = Σ_c w[k, c] g[c, y], summed where segments overlap."""
    count, width = w.shape
    out[:] = 0.0
    for y in range(height):
        at = y * stride
        full = width - width % 8
        for c in range(0, full, 8):
            p = (c * height + y) * length
            q = height * length
            g0, g1, g2, g3 = g[p:][:length], g[p + q :][:length], g[p + 2 * q :][:length], g[p + 3 * q :][:length]
            p += 4 * q
            g4, g5, g6, g7 = g[p:][:length], g[p + q :][:length], g[p + 2 * q :][:length], g[p + 3 * q :][:length]
            for k in range(count):
                o = out[taps[k] + at :][:length]
                w0, w1, w2, w3 = w[k, c], w[k, c + 1], w[k, c + 2], w[k, c + 3]
                w4, w5, w6, w7 = w[k, c + 4], w[k, c + 5], w[k, c + 6], w[k, c + 7]
                for i in range(length):
                    o[i] += (
                        w0 * g0[i] + w1 * g1[i] + w2 * g2[i] + w3 * g3[i]
                        + w4 * g4[i] + w5 * g5[i] + w6 * g6[i] + w7 * g7[i]
                    )  # fmt: skip
        for c in range(full, width):
            g0 = g[(c * height + y) * length :][:length]
            for k in range(count):
                o, w0 = out[taps[k] + at :][:length], w[k, c]
                for i in range(length):
                    o[i] += w0 * g0[i]


@SUMS
def _correlate(x, taps, stride, g, out, height, length):  # type: ignore[no-untyped-def]
    """Compute ∂L/∂w[k, c] = Σ_y x[k, y] · g[c, y]; the last block of an odd number repeats its last row."""
    count, width = out.shape
    for k in range(0, count, 4):
        k1, k2, k3 = min(k + 1, count - 1), min(k + 2, count - 1), min(k + 3, count - 1)
        for c in range(0, width, 2):
            d = min(c + 1, width - 1)
            t00 = t01 = t10 = t11 = t20 = t21 = t30 = t31 = 0.0
            for y in range(height):
                at = y * stride
                x0, x1 = x[taps[k] + at :][:length], x[taps[k1] + at :][:length]
                x2, x3 = x[taps[k2] + at :][:length], x[taps[k3] + at :][:length]
                g0, g1 = g[(c * height + y) * length :][:length], g[(d * height + y) * length :][:length]
                for i in range(length):
                    t00 += x0[i] * g0[i]
                    t01 += x0[i] * g1[i]
                    t10 += x1[i] * g0[i]
                    t11 += x1[i] * g1[i]
                    t20 += x2[i] * g0[i]
                    t21 += x2[i] * g1[i]
                    t30 += x3[i] * g0[i]
                    t31 += x3[i] * g1[i]
            out[k, c], out[k, d], out[k1, c], out[k1, d] = t00, t01, t10, t11
            out[k2, c], out[k2, d], out[k3, c], out[k3, d] = t20, t21, t30, t31


@SUMS
def _sum_boxes(x, y, boxes, total):  # type: ignore[no-untyped-def]
    """Compute the sum of x·y over every box, total (boxes, statistics of a row)."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    total[:] = 0.0
    for r in range(rows):
        into, x0, y0 = total[boxes[r]], x[r], y[r]
        if size == 1:
            for i in range(length):
                into[i] += x0[i] * y0[i]
        else:
            for j in range(count):
                t = 0.0
                x1, y1 = x0[j * size :][:size], y0[j * size :][:size]
                for i in range(size):
                    t += x1[i] * y1[i]
                into[j] += t


@SUMS
def _average_boxes(x, boxes, total):  # type: ignore[no-untyped-def]
    """Compute the average of x over every box, total (boxes, statistics of a row)."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    total[:] = 0.0
    for r in range(rows):
        into, x0 = total[boxes[r]], x[r]
        if size == 1:
            for i in range(length):
                into[i] += x0[i]
        else:
            for j in range(count):
                t = 0.0
                x1 = x0[j * size :][:size]
                for i in range(size):
                    t += x1[i]
                into[j] += t
    total /= x.size / total.size


@EXACT
def _add_boxes(x, y, boxes, total, factor):  # type: ignore[no-untyped-def]
    """Add factor · y · total, broadcast from boxes to elements, to x."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    for r in range(rows):
        t, x0, y0 = total[boxes[r]], x[r], y[r]
        if size == 1:
            for i in range(length):
                x0[i] += factor * t[i] * y0[i]
        else:
            for j in range(count):
                x1, y1, s = x0[j * size :][:size], y0[j * size :][:size], factor * t[j]
                for i in range(size):
                    x1[i] += s * y1[i]


@EXACT
def _subtract_boxes(x, boxes, total):  # type: ignore[no-untyped-def]
    """Subtract total, broadcast from boxes to elements, from x."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    for r in range(rows):
        t, x0 = total[boxes[r]], x[r]
        if size == 1:
            for i in range(length):
                x0[i] -= t[i]
        else:
            for j in range(count):
                x1, s = x0[j * size :][:size], t[j]
                for i in range(size):
                    x1[i] -= s


@EXACT
def _multiply_boxes(x, boxes, total):  # type: ignore[no-untyped-def]
    """Multiply x by total, broadcast from boxes to elements."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    for r in range(rows):
        t, x0 = total[boxes[r]], x[r]
        if size == 1:
            for i in range(length):
                x0[i] *= t[i]
        else:
            for j in range(count):
                x1, s = x0[j * size :][:size], t[j]
                for i in range(size):
                    x1[i] *= s


@EXACT
def _normalize(flat, plan, boxes, numbers, inverse, work):  # type: ignore[no-untyped-def]
    """Replace x by x̂; `inverse` gets the divisors' inverses, or αx + s of a pointwise scheme."""
    kind, rows, length = plan[0], plan[1], plan[2]
    if kind == NONE:
        return
    x = flat.reshape(rows, length)
    if kind == GENERAL:
        if plan[3]:
            mean = work[: plan[3] * plan[4]].reshape(plan[3], plan[4])
            _average_boxes(x, boxes[0, :rows], mean)
            _subtract_boxes(x, boxes[0, :rows], mean)
        if plan[5]:
            count = plan[5] * plan[6]
            of_box = inverse[:count].reshape(plan[5], plan[6])
            _sum_boxes(x, x, boxes[1, :rows], of_box)
            for i in range(count):
                sigma = sqrt(inverse[i] / (x.size // count) + numbers[0])
                inverse[i] = 0.0 if sigma == 0.0 else numbers[1] / sigma
            _multiply_boxes(x, boxes[1, :rows], of_box)
        return
    for i in range(flat.size):
        inside = numbers[2] * flat[i] + numbers[3]
        inverse[i] = inside
        flat[i] = tanh(inside) if kind == TANH else erf(inside)


@EXACT
def _backpropagate(flat, xhat_flat, plan, boxes, numbers, inverse, work):  # type: ignore[no-untyped-def]
    """Replace ∂L/∂x̂ by ∂L/∂x."""
    kind, rows, length = plan[0], plan[1], plan[2]
    if kind == NONE:
        return
    if kind == GENERAL:
        g, xhat = flat.reshape(rows, length), xhat_flat.reshape(rows, length)
        if plan[5]:
            count = plan[5] * plan[6]
            _multiply_boxes(g, boxes[1, :rows], inverse[:count].reshape(plan[5], plan[6]))
            total = work[:count].reshape(plan[5], plan[6])
            _sum_boxes(g, xhat, boxes[1, :rows], total)
            _add_boxes(g, xhat, boxes[1, :rows], total, -1.0 / (numbers[1] * numbers[1] * (g.size // count)))
        if plan[3]:
            mean = work[: plan[3] * plan[4]].reshape(plan[3], plan[4])
            _average_boxes(g, boxes[0, :rows], mean)
            _subtract_boxes(g, boxes[0, :rows], mean)
        return
    for i in range(flat.size):
        u = inverse[i]
        slope = 1.0 / cosh(u) ** 2 if kind == TANH else 2.0 / sqrt(pi) * exp(-u * u)
        flat[i] = flat[i] * slope * numbers[2]


@EXACT
def _activate(xhat, gain, bias, out, length):  # type: ignore[no-untyped-def]
    """Compute ReLU(γ x̂ + β) by channel; NaN stays NaN."""
    for c in range(gain.size):
        x, o, a, b = xhat[c * length :][:length], out[c * length :][:length], gain[c], bias[c]
        for i in range(length):
            y = a * x[i] + b
            o[i] = 0.0 if y <= 0.0 else y


@SUMS
def _backpropagate_activation(g, xhat, out, gain, by_gain, by_bias, length):  # type: ignore[no-untyped-def]
    """Replace ∂L/∂h by ∂L/∂x̂, with the gradients of γ and β."""
    for c in range(gain.size):
        at = c * length
        g0, x0, o0, a = g[at:][:length], xhat[at:][:length], out[at:][:length], gain[c]
        s = t = 0.0
        for i in range(length):
            y = 0.0 if o0[i] <= 0.0 else g0[i]
            s += y
            t += y * x0[i]
            g0[i] = y * a
        by_bias[c], by_gain[c] = s, t


@EXACT
def _exponentiate(x, bits):  # type: ignore[no-untyped-def]
    """Replace x ≤ 0 by eˣ = 2ᵏ eʳ with |r| ≤ ½ ln 2; `bits` are whole numbers to work with."""
    for i in range(x.size):
        v = LEAST if x[i] < LEAST else x[i]
        k = floor(v * LOG2_E + 0.5)
        r = v - k * LN2_HIGH - k * LN2_LOW
        t = 1.0
        for n in range(TERMS, 0, -1):
            t = 1.0 + t * r * (1.0 / n)
        bits[i] = (np.int64(k) + 1023) << 52
        x[i] = t
    powers = bits.view(np.float64)
    for i in range(x.size):
        x[i] *= powers[i]


@EXACT
def _compute_loss(flat, offset, labels, by_offset, work, bits):  # type: ignore[no-untyped-def]
    """Return the mean cross-entropy of logits (classes, examples); replace them by its gradient."""
    batch = labels.size
    classes = flat.size // batch
    logits, most, total = flat.reshape(classes, batch), work[:batch], work[batch : 2 * batch]
    for n in range(batch):
        most[n], total[n] = -np.inf, 0.0
    for c in range(classes):
        row, add = logits[c], offset[c]
        for n in range(batch):
            row[n] += add
            most[n] = row[n] if row[n] > most[n] else most[n]
    for c in range(classes):
        row = logits[c]
        for n in range(batch):
            row[n] -= most[n]
    loss = 0.0
    for n in range(batch):
        loss -= logits[labels[n], n]
    _exponentiate(flat, bits[: flat.size])
    for c in range(classes):
        row = logits[c]
        for n in range(batch):
            total[n] += row[n]
    for n in range(batch):
        loss += log(total[n])
        total[n] = 1.0 / (total[n] * batch)
    for c in range(classes):
        row = logits[c]
        for n in range(batch):
            row[n] *= total[n]
    for n in range(batch):
        logits[labels[n], n] -= 1.0 / batch
    for c in range(classes):
        row, s = logits[c], 0.0
        for n in range(batch):
            s += row[n]
        by_offset[c] = s
    return loss / batch


@EXACT
def _update(p, g, rates, state, optimizer, powers, segments, constants, work):  # type: ignore[no-untyped-def]
    """Update the parameters of one network by SGD, momentum or Adam, as `optimizers` does."""
    momentum, beta, beta2, tiny, noise = constants
    if optimizer == ADAM:
        first, second = 1 - powers[0], 1 - powers[1]
        m, v = state[0], state[1]
        for s in range(len(segments)):
            at, count, width = segments[s, 0], segments[s, 1], segments[s, 2]
            scale = work[:width]
            scale[:] = 0.0 if count > 1 else 1.0
            if count > 1:
                for i in range(count * width):
                    size = abs(p[at + i])
                    scale[i % width] = size if not size <= scale[i % width] else scale[i % width]
            most = 0.0
            for i in range(count * width):
                size = abs(g[at + i]) * scale[i % width]
                most = size if not size <= most else most
            for i in range(count * width):
                j = at + i
                y = g[j] if abs(g[j]) * scale[i % width] > noise * most else 0.0
                m[j] += (1 - beta) * (y - m[j])
                v[j] = v[j] * beta2 + (1 - beta2) * y * y
                p[j] -= rates[j] * ((m[j] / first) / (sqrt(v[j] / second) + tiny))
        return
    if optimizer == MOMENTUM:
        m = state[0]
        for i in range(p.size):
            m[i] = momentum * m[i] + g[i]
            p[i] -= rates[i] * m[i]
        return
    for i in range(p.size):
        p[i] -= rates[i] * g[i]


@EXACT
def _transform(x, factor, shift, out):  # type: ignore[no-untyped-def]
    """Compute factor · x + shift."""
    for i in range(factor.size):
        out[i] = x[i] * factor[i] + shift[i]


@EXACT
def _copy(x, out):  # type: ignore[no-untyped-def]
    """Copy x."""
    for i in range(x.size):
        out[i] = x[i]


@EXACT
def train_network(  # type: ignore[no-untyped-def]
    images, labels, factor, shift, losses, p, rates, state, powers, optimizer, constants, segments, maps, taps, plans,
    boxes, numbers, arrays,
):  # fmt: skip
    """Train one network on some mini-batches; update its parameters p and optimizer state, and store its losses.

    Args:
        images, labels: of every step, (steps, pixels · N) and (steps, N).
        factor, shift: of the images of this network, (pixels · N,).
        losses: to be stored, (steps,).
        p, rates: parameters and their learning rates, flat: weights by layer, γ, β, classifier, its offset.
        state, powers: moments of the optimizer, (2, parameters), and β₁ᵗ and β₂ᵗ of every step.
        optimizer, constants: which one, and its numbers.
        segments: start, fan-in and units of every parameter tensor in p.
        maps: of every layer and of the classifier: stride, height and length of its segments, its first tap, and where
            its input begins in an array of all activations; then where the logits begin, and where they end.
        taps: of all layers.
        plans, boxes, numbers: how activations (0) and weights (1) of every layer are normalized.
    """
    depth = len(maps) - 3
    inputs, xhats, inverses, slopes, gradient, work, used, by_used, bits = arrays
    for step in range(len(images)):
        x = images[step]
        if factor.size:
            x = inputs[: factor.size]
            _transform(images[step], factor, shift, x)
        for layer in range(depth + 1):
            at, count, width = segments[layer if layer < depth else 3 * depth]
            stride, height, length, tap, begin = maps[layer]
            end = maps[layer + 1, 4]
            w = p[at : at + count * width]
            if layer:
                x = inputs[begin:end]
            if layer < depth and plans[1, layer, 0]:
                w = used[at : at + count * width]
                _copy(p[at : at + count * width], w)
                _normalize(w, plans[1, layer], boxes[1, layer], numbers[1, layer], by_used[at:], work)
            out = xhats[end : end + width * height * length]
            _apply_map(x, taps[tap:], stride, w.reshape(count, width), out, height, length)
            if layer < depth:
                _normalize(out, plans[0, layer], boxes[0, layer], numbers[0, layer], inverses[end:], work)
                gain, bias = segments[depth + layer, 0], segments[2 * depth + layer, 0]
                _activate(out, p[gain : gain + width], p[bias : bias + width], inputs[end:], height * length)
        offset = segments[-1, 0]
        losses[step] = _compute_loss(out, p[offset:], labels[step], gradient[offset:], work, bits)
        g = out
        for layer in range(depth, -1, -1):
            at, count, width = segments[layer if layer < depth else 3 * depth]
            stride, height, length, tap, begin = maps[layer]
            end = maps[layer + 1, 4]
            by_weight = gradient[at : at + count * width]
            if layer < depth:
                xhat = xhats[end : end + width * height * length]
                gain, bias = segments[depth + layer, 0], segments[2 * depth + layer, 0]
                _backpropagate_activation(
                    g, xhat, inputs[end:], p[gain:][:width], gradient[gain:], gradient[bias:], height * length
                )
                _backpropagate(g, xhat, plans[0, layer], boxes[0, layer], numbers[0, layer], inverses[end:], work)
            x = inputs[begin:end]
            if layer == 0 and factor.size == 0:
                x = images[step]
            _correlate(x, taps[tap:], stride, g, by_weight.reshape(count, width), height, length)
            if layer:
                w = p[at : at + count * width]
                if layer < depth and plans[1, layer, 0]:
                    w = used[at : at + count * width]
                into = slopes[begin:end]
                _apply_transpose(g, taps[tap:], stride, w.reshape(count, width), into, height, length)
                g = into
            if layer < depth and plans[1, layer, 0]:
                w = used[at : at + count * width]
                _backpropagate(
                    by_weight, w, plans[1, layer], boxes[1, layer], numbers[1, layer], by_used[at:], work
                )
        _update(p, gradient, rates, state, optimizer, powers[:, step], segments, constants, work)
