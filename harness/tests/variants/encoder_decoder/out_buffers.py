"""A copy of x that every sublayer adds to in place, heads folded into the batch, and a large finite fill."""

import numpy as np


def normalised(x, gain, bias):
    out = np.subtract(x, x.mean(axis=-1, keepdims=True))
    deviation = np.sqrt(np.square(out).mean(axis=-1, keepdims=True) + 1e-5)
    np.divide(out, deviation, out=out)
    out *= gain
    out += bias
    return out


def folded(x, heads):
    B, T, d = x.shape
    return np.ascontiguousarray(x.reshape(B, T, heads, -1).swapaxes(1, 2)).reshape(B * heads, T, d // heads)


def attend(x, source, weights, heads, blocked):
    B, T, d = x.shape
    S = source.shape[1]
    q, k, v = (folded(a @ w, heads) for a, w in zip((x, source, source), weights[:3], strict=True))
    scores = np.matmul(q, k.transpose(0, 2, 1))
    scores *= (d // heads) ** -0.5
    if blocked is not None:
        flags = np.broadcast_to(blocked, (B, heads, T, S)).reshape(scores.shape)
        np.putmask(scores, flags, np.finfo(scores.dtype).min)
    scores -= scores.max(axis=-1, keepdims=True)
    np.exp(scores, out=scores)
    scores /= scores.sum(axis=-1, keepdims=True)
    mixed = np.matmul(scores, v).reshape(B, heads, T, -1)
    return mixed.swapaxes(1, 2).reshape(B, T, d) @ weights[3]


def run(x, memory, params, heads, memory_blocked, target_blocked):
    """One layer, in the place of x."""
    T = x.shape[1]
    hidden = np.zeros((1, 1, T, T), bool)
    hidden[0, 0][np.triu_indices(T, 1)] = True
    if target_blocked is not None:
        hidden = hidden | target_blocked
    normed = normalised(x, params["g1"], params["b1"])
    x += attend(normed, normed, [params["w" + n] for n in "qkvo"], heads, hidden)
    normed = normalised(x, params["g2"], params["b2"])
    x += attend(normed, memory, [params["c" + n] for n in "qkvo"], heads, memory_blocked)
    inner = normalised(x, params["g3"], params["b3"]) @ params["w1"]
    inner += params["c1"]
    np.maximum(inner, 0, out=inner)
    x += inner @ params["w2"]
    x += params["c2"]


def decoder_layer(x, memory, params, heads, memory_blocked=None, target_blocked=None):
    x = x.copy()
    run(x, memory, params, heads, memory_blocked, target_blocked)
    return x


def decoder(x, memory, layers, heads, gamma, beta, memory_blocked=None, target_blocked=None):
    x = np.array(x)
    for params in layers:
        run(x, memory, params, heads, memory_blocked, target_blocked)
    return normalised(x, gamma, beta)


def generator(x, projection, bias):
    out = x @ projection
    out += bias
    out -= out.max(axis=-1, keepdims=True)
    out -= np.log(np.exp(out).sum(axis=-1, keepdims=True))
    return out
