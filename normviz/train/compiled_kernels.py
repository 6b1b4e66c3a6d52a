"""The whole training of one network on a CPU, compiled by Numba: for the general form and pointwise functions, float64.

Activations lie in memory as (C, H, W, N), so that inner loops run along examples. A layer is a linear map given by
`taps`, the starts of its inputs: out[c, y] = Σ_k w[k, c] · x[taps[k] + y · stride], for segments of `length` numbers. A
dense layer and a classifier have one segment for each unit, a convolution one for each row of an image.

A normalized tensor is cut into rows of equal length, and `boxes` holds for every row the box of a field that it belongs
to. Within a row there is a statistic for every element, or for every one of some equal blocks.

Functions are compiled without reference counting, which costs as much as a short loop, so none may allocate.
"""

from math import cosh, erf, exp, floor, log, pi, sqrt, tanh
from typing import Any

import numpy as np
from numba import njit

NONE, GENERAL, TANH, ERF = range(4)
"""Kinds of normalization of a tensor."""

SGD, MOMENTUM, ADAM = range(3)
"""Optimizers."""

SUM, SUM_PRODUCTS, SUBTRACT, SUBTRACT_PRODUCTS, MULTIPLY = range(5)
"""Operations on the boxes of a field."""

LOG2_E, LN2_HIGH, LN2_LOW = 1.4426950408889634, 6.93147180369123816490e-01, 1.90821492927058770002e-10
"""log₂ e, and ln 2 as a sum whose first number has few digits, so that its product with a small integer is exact."""

LEAST, TERMS = -700.0, 13
"""The smallest exponent of e, and the number of terms of the series of eʳ."""
OPTIONS: dict[str, Any] = {"nogil": True, "cache": True, "error_model": "numpy", "_nrt": False}

compile_exactly = njit(**OPTIONS, fastmath={"contract"})
"""Compile a function; a product and a sum may be rounded once."""

compile_sums = njit(**OPTIONS, fastmath={"contract", "reassoc"})
"""Compile a function; sums may also be taken in any order, by vectors."""


@compile_exactly
def _apply_map(x, taps, stride, w, out, height, length):
    """Compute out[c, y] = Σ_k w[k, c] x[k, y], eight inputs at a time."""
    count, width = w.shape
    out[:] = 0.0
    full = count - count % 8
    for y in range(height):
        at = y * stride
        for k in range(0, full, 8):
            x0, x1, x2 = x[taps[k] + at :][:length], x[taps[k + 1] + at :][:length], x[taps[k + 2] + at :][:length]
            x3, x4, x5 = x[taps[k + 3] + at :][:length], x[taps[k + 4] + at :][:length], x[taps[k + 5] + at :][:length]
            x6, x7 = x[taps[k + 6] + at :][:length], x[taps[k + 7] + at :][:length]
            for c in range(width):
                o = out[(c * height + y) * length :][:length]
                a, b, d, e = w[k, c], w[k + 1, c], w[k + 2, c], w[k + 3, c]
                f, g, h, j = w[k + 4, c], w[k + 5, c], w[k + 6, c], w[k + 7, c]
                for i in range(length):
                    first = a * x0[i] + b * x1[i] + d * x2[i] + e * x3[i]
                    o[i] += first + f * x4[i] + g * x5[i] + h * x6[i] + j * x7[i]
        for k in range(full, count):
            x0 = x[taps[k] + at :][:length]
            for c in range(width):
                o, a = out[(c * height + y) * length :][:length], w[k, c]
                for i in range(length):
                    o[i] += a * x0[i]


@compile_exactly
def _apply_transpose(g, taps, stride, w, out, height, length):
    """Compute the transpose of `_apply_map`, out[k, y] = Σ_c w[k, c] g[c, y]; overlapping segments are added."""
    count, width = w.shape
    out[:] = 0.0
    full, size = width - width % 5, height * length
    for y in range(height):
        at = y * stride
        for c in range(0, full, 5):
            p = c * size + y * length
            g0, g1, g2 = g[p:][:length], g[p + size :][:length], g[p + 2 * size :][:length]
            g3, g4 = g[p + 3 * size :][:length], g[p + 4 * size :][:length]
            for k in range(count):
                o = out[taps[k] + at :][:length]
                a, b, d, e, f = w[k, c], w[k, c + 1], w[k, c + 2], w[k, c + 3], w[k, c + 4]
                for i in range(length):
                    o[i] += a * g0[i] + b * g1[i] + d * g2[i] + e * g3[i] + f * g4[i]
        for c in range(full, width):
            g0 = g[c * size + y * length :][:length]
            for k in range(count):
                o, a = out[taps[k] + at :][:length], w[k, c]
                for i in range(length):
                    o[i] += a * g0[i]


@compile_sums
def _correlate(x, taps, stride, g, out, height, length):
    """Compute the gradient of w, out[k, c] = Σ_y x[k, y] · g[c, y]; an incomplete block repeats its last index."""
    count, width = out.shape
    for k in range(0, count, 4):
        k1, k2, k3 = min(k + 1, count - 1), min(k + 2, count - 1), min(k + 3, count - 1)
        for c in range(0, width, 2):
            d = min(c + 1, width - 1)
            a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = 0.0
            for y in range(height):
                at = y * stride
                x0, x1 = x[taps[k] + at :][:length], x[taps[k1] + at :][:length]
                x2, x3 = x[taps[k2] + at :][:length], x[taps[k3] + at :][:length]
                g0, g1 = g[(c * height + y) * length :][:length], g[(d * height + y) * length :][:length]
                for i in range(length):
                    a0 += x0[i] * g0[i]
                    a1 += x1[i] * g0[i]
                    a2 += x2[i] * g0[i]
                    a3 += x3[i] * g0[i]
                    b0 += x0[i] * g1[i]
                    b1 += x1[i] * g1[i]
                    b2 += x2[i] * g1[i]
                    b3 += x3[i] * g1[i]
            out[k, c], out[k1, c], out[k2, c], out[k3, c] = a0, a1, a2, a3
            out[k, d], out[k1, d], out[k2, d], out[k3, d] = b0, b1, b2, b3


@compile_sums
def _reduce_boxes(operation, x, y, boxes, total):
    """Sum x, or x · y, (rows, length), over every box: total (boxes, statistics of a row)."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    total[:] = 0.0
    for r in range(rows):
        into, x0, y0 = total[boxes[r]], x[r], y[r]
        if size == 1:
            for i in range(length):
                into[i] += x0[i] if operation == SUM else x0[i] * y0[i]
        else:
            for j in range(count):
                t, x1, y1 = 0.0, x0[j * size :][:size], y0[j * size :][:size]
                for i in range(size):
                    t += x1[i] if operation == SUM else x1[i] * y1[i]
                into[j] += t


@compile_exactly
def _broadcast_boxes(operation, x, y, boxes, total):
    """Subtract the statistics of every box from x, subtract their product with y, or multiply x by them."""
    rows, length = x.shape
    count = total.shape[1]
    size = length // count
    for r in range(rows):
        t, x0, y0 = total[boxes[r]], x[r], y[r]
        for j in range(1 if size == 1 else count):
            s = t[j]
            x1, y1 = (x0, y0) if size == 1 else (x0[j * size :][:size], y0[j * size :][:size])
            for i in range(x1.size):
                value = t[i] if size == 1 else s
                if operation == SUBTRACT:
                    x1[i] -= value
                elif operation == SUBTRACT_PRODUCTS:
                    x1[i] -= value * y1[i]
                else:
                    x1[i] *= value


@compile_exactly
def _normalize(flat, plan, boxes, numbers, inverse, work):
    """Replace x by x̂; `inverse` becomes the reciprocal of the divisor, or the argument of a pointwise function."""
    kind, rows, length, a_boxes, a_count, b_boxes, b_count = plan
    eps, scale, alpha, shift = numbers
    if kind == GENERAL:
        x = flat.reshape(rows, length)
        if a_boxes:
            mean = work[: a_boxes * a_count]
            by_box = mean.reshape(a_boxes, a_count)
            _reduce_boxes(SUM, x, x, boxes[0], by_box)
            mean /= flat.size // mean.size
            _broadcast_boxes(SUBTRACT, x, x, boxes[0], by_box)
        if b_boxes:
            of_box = inverse[: b_boxes * b_count]
            by_box = of_box.reshape(b_boxes, b_count)
            _reduce_boxes(SUM_PRODUCTS, x, x, boxes[1], by_box)
            for i in range(of_box.size):
                sigma = sqrt(of_box[i] / (flat.size // of_box.size) + eps)
                of_box[i] = 0.0 if sigma == 0.0 else scale / sigma
            _broadcast_boxes(MULTIPLY, x, x, boxes[1], by_box)
    elif kind != NONE:
        for i in range(flat.size):
            inverse[i] = alpha * flat[i] + shift
            flat[i] = tanh(inverse[i]) if kind == TANH else erf(inverse[i])


@compile_exactly
def _backpropagate(flat, xhat, plan, boxes, numbers, inverse, work):
    """Replace ∂L/∂x̂ by ∂L/∂x."""
    kind, rows, length, a_boxes, a_count, b_boxes, b_count = plan
    _, scale, alpha, _ = numbers
    if kind == GENERAL:
        g, xhat = flat.reshape(rows, length), xhat.reshape(rows, length)
        if b_boxes:
            average = work[: b_boxes * b_count]
            by_box = average.reshape(b_boxes, b_count)
            _broadcast_boxes(MULTIPLY, g, g, boxes[1], inverse[: average.size].reshape(b_boxes, b_count))
            _reduce_boxes(SUM_PRODUCTS, g, xhat, boxes[1], by_box)
            average /= scale * scale * (flat.size // average.size)
            _broadcast_boxes(SUBTRACT_PRODUCTS, g, xhat, boxes[1], by_box)
        if a_boxes:
            average = work[: a_boxes * a_count]
            by_box = average.reshape(a_boxes, a_count)
            _reduce_boxes(SUM, g, g, boxes[0], by_box)
            average /= flat.size // average.size
            _broadcast_boxes(SUBTRACT, g, g, boxes[0], by_box)
    elif kind != NONE:
        for i in range(flat.size):
            u = inverse[i]
            flat[i] *= alpha * (1.0 / cosh(u) ** 2 if kind == TANH else 2.0 / sqrt(pi) * exp(-u * u))


@compile_exactly
def _activate(xhat, gain, bias, out, length):
    """Compute ReLU(γ x̂ + β) by channel; NaN stays NaN."""
    for c in range(gain.size):
        x, o, a, b = xhat[c * length :][:length], out[c * length :][:length], gain[c], bias[c]
        for i in range(length):
            y = a * x[i] + b
            o[i] = 0.0 if y <= 0.0 else y


@compile_sums
def _backpropagate_activation(g, xhat, out, gain, by_gain, by_bias, length):
    """Replace ∂L/∂h by ∂L/∂x̂, and compute the gradients of γ and β."""
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


@compile_exactly
def _exponentiate(x, bits):
    """Replace x ≤ 0 by eˣ = 2ᵏ eʳ with |r| ≤ ½ ln 2; `bits` becomes the bits of 2ᵏ."""
    for i in range(x.size):
        v = LEAST if x[i] < LEAST else x[i]
        k = floor(v * LOG2_E + 0.5)
        r, t = v - k * LN2_HIGH - k * LN2_LOW, 1.0
        for n in range(TERMS, 0, -1):
            t = 1.0 + t * r * (1.0 / n)
        bits[i] = (np.int64(k) + 1023) << 52
        x[i] = t
    powers = bits.view(np.float64)
    for i in range(x.size):
        x[i] *= powers[i]


@compile_exactly
def _compute_loss(flat, offset, labels, by_offset, work, bits):
    """Return the mean cross-entropy of logits (classes, N), and replace them by its gradient."""
    batch = labels.size
    classes = flat.size // batch
    logits, most, total = flat.reshape(classes, batch), work[:batch], work[batch : 2 * batch]
    most[:], total[:], loss = -np.inf, 0.0, 0.0
    for c in range(classes):
        row, add = logits[c], offset[c]
        for n in range(batch):
            row[n] += add
            most[n] = row[n] if row[n] > most[n] else most[n]
    for c in range(classes):
        for n in range(batch):
            logits[c, n] -= most[n]
    for n in range(batch):
        loss -= logits[labels[n], n]
    _exponentiate(flat, bits[: flat.size])
    for c in range(classes):
        for n in range(batch):
            total[n] += logits[c, n]
    for n in range(batch):
        loss += log(total[n])
    for c in range(classes):
        row, by_offset[c] = logits[c], 0.0
        for n in range(batch):
            row[n] = (row[n] / total[n] - (1.0 if labels[n] == c else 0.0)) / batch
        for n in range(batch):
            by_offset[c] += row[n]
    return loss / batch


@compile_exactly
def _update(p, g, rates, state, optimizer, powers, segments, constants, work):
    """Update all parameters of a network by SGD, momentum or Adam, as `optimizers` does."""
    momentum, beta1, beta2, tiny, noise = constants
    if optimizer == SGD:
        for i in range(p.size):
            p[i] -= rates[i] * g[i]
    elif optimizer == MOMENTUM:
        m = state[0]
        for i in range(p.size):
            m[i] = momentum * m[i] + g[i]
            p[i] -= rates[i] * m[i]
    else:
        m, v, first, second = state[0], state[1], 1 - powers[0], 1 - powers[1]
        for begin, count, width in segments:
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


SIGNATURE = """void(
    float64[:, ::1], int64[:, ::1], float64[:, ::1], float64[:],
    float64[::1], float64[::1], float64[:, ::1], float64[:, :], int64, UniTuple(float64, 5),
    int64[:, ::1], int64[:, ::1], int64[::1], int64[:, :, ::1], int64[:, :, :, ::1], float64[:, :, ::1],
    float64[:, ::1], int64[::1]
)"""


@njit(SIGNATURE, **OPTIONS, fastmath={"contract"})
def train_network(
    images, labels, changes, losses,
    p, rates, state, powers, optimizer, constants,
    segments, maps, taps, plans, boxes, numbers,
    arrays, bits,
):  # fmt: skip
    """Train one network on some mini-batches: update its parameters and the state of its optimizer, store its losses.

    Args:
        images, labels: of every step, (steps, pixels · N) and (steps, N).
        changes: factor and shift of the images of this network, (2, pixels · N); (2, 0) for none.
        losses: before the update of every step, (steps,).
        p, rates: parameters and their learning rates, flat: weights by layer, γ, β, the classifier and its offset.
        state, powers: moments of the optimizer, (moments, parameters), and β₁ᵗ and β₂ᵗ of every step, (2, steps).
        optimizer, constants: which one, and its numbers.
        segments: start, fan-in and units of every parameter tensor in p.
        maps: of every layer and the classifier: stride, height and length of its segments, its first tap, the start of
            its input among all activations; then, in the same place, start and end of the logits.
        taps: of all layers.
        plans, boxes, numbers: how activations (0) and weights (1) of every layer are normalized.
        arrays, bits: memory for seven times all activations and parameters, and for the bits of the logits.
    """
    inputs, xhats, inverses, slopes = arrays[0], arrays[1], arrays[2], arrays[3]
    gradient, used, inverse = arrays[4], arrays[5], arrays[6]
    depth, is_plain = len(maps) - 3, changes.shape[1] == 0
    for step in range(len(images)):
        if not is_plain:
            for i in range(images.shape[1]):
                inputs[i] = images[step, i] * changes[0, i] + changes[1, i]
        x = images[step] if is_plain else inputs
        for layer in range(depth + 1):
            at, count, width = segments[layer if layer < depth else 3 * depth]
            stride, height, length, tap, _ = maps[layer]
            end, w = maps[layer + 1, 4], p[at : at + count * width]
            if layer < depth and plans[1, layer, 0] != NONE:
                w = used[at : at + count * width]
                for i in range(w.size):
                    w[i] = p[at + i]
                _normalize(w, plans[1, layer], boxes[1, layer], numbers[1, layer], inverse[at:], gradient)
            out = xhats[end:][: width * height * length]
            _apply_map(x, taps[tap:], stride, w.reshape(count, width), out, height, length)
            if layer < depth:
                _normalize(out, plans[0, layer], boxes[0, layer], numbers[0, layer], inverses[end:], slopes)
                gain, bias = p[segments[depth + layer, 0] :][:width], p[segments[2 * depth + layer, 0] :][:width]
                x = inputs[end:]
                _activate(out, gain, bias, x, height * length)
        last, g = segments[-1, 0], out
        losses[step] = _compute_loss(g, p[last:], labels[step], gradient[last:], slopes, bits)
        for layer in range(depth, -1, -1):
            at, count, width = segments[layer if layer < depth else 3 * depth]
            stride, height, length, tap, begin = maps[layer]
            end, has_weight_scheme = maps[layer + 1, 4], layer < depth and plans[1, layer, 0] != NONE
            by_weight = gradient[at : at + count * width]
            if layer < depth:
                xhat = xhats[end:][: width * height * length]
                gain, bias = segments[depth + layer, 0], segments[2 * depth + layer, 0]
                _backpropagate_activation(
                    g, xhat, inputs[end:], p[gain:][:width], gradient[gain:], gradient[bias:], height * length
                )
                _backpropagate(
                    g, xhat, plans[0, layer], boxes[0, layer], numbers[0, layer], inverses[end:], inputs[end:]
                )
            x = images[step] if is_plain and layer == 0 else inputs[begin:]
            _correlate(x, taps[tap:], stride, g, by_weight.reshape(count, width), height, length)
            w = used[at : at + count * width] if has_weight_scheme else p[at : at + count * width]
            if layer:
                into = slopes[begin:end]
                _apply_transpose(g, taps[tap:], stride, w.reshape(count, width), into, height, length)
                g = into
            if has_weight_scheme:
                _backpropagate(
                    by_weight, w, plans[1, layer], boxes[1, layer], numbers[1, layer], inverse[at:], inputs[end:]
                )
        _update(p, gradient, rates, state, optimizer, powers[:, step], segments, constants, slopes)
