"""As a textbook has it: small functions, and a fill of -inf that trusts every query to see something."""

import numpy as np


def norm(x, gain, bias):
    centred = x - x.mean(-1, keepdims=True)
    return gain * centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) + bias


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def multi_head(query, source, wq, wk, wv, wo, heads, blocked):
    batch, _, width = query.shape

    def split(z):
        return np.moveaxis(z.reshape(batch, -1, heads, width // heads), 2, 1)

    q, k, v = split(query @ wq), split(source @ wk), split(source @ wv)
    scores = q @ np.swapaxes(k, 2, 3) / np.sqrt(width // heads)
    if blocked is not None:
        scores = np.where(blocked, -np.inf, scores)
    out = np.moveaxis(softmax(scores) @ v, 1, 2)
    return out.reshape(query.shape) @ wo


def decoder_layer(x, memory, params, heads, memory_blocked=None, target_blocked=None):
    p = params
    causal = np.arange(x.shape[1])[:, None] < np.arange(x.shape[1])
    own = causal if target_blocked is None else np.logical_or(causal, target_blocked)
    y = norm(x, p["g1"], p["b1"])
    x = x + multi_head(y, y, p["wq"], p["wk"], p["wv"], p["wo"], heads, own)
    y = norm(x, p["g2"], p["b2"])
    x = x + multi_head(y, memory, p["cq"], p["ck"], p["cv"], p["co"], heads, memory_blocked)
    y = norm(x, p["g3"], p["b3"])
    return x + np.maximum(0, y @ p["w1"] + p["c1"]) @ p["w2"] + p["c2"]


def decoder(x, memory, layers, heads, gamma, beta, memory_blocked=None, target_blocked=None):
    for params in layers:
        x = decoder_layer(x, memory, params, heads, memory_blocked, target_blocked)
    return norm(x, gamma, beta)


def generator(x, projection, bias):
    z = x @ projection + bias
    top = z.max(-1, keepdims=True)
    return z - top - np.log(np.sum(np.exp(z - top), -1, keepdims=True))
