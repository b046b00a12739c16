"""Features down, tokens across: every product is turned round, so that weights multiply from the left, transposed."""

import numpy as np


def columns(x):
    return x.swapaxes(-1, -2)


def norm(x, gain, bias):
    mean, deviation = x.mean(axis=-2, keepdims=True), np.sqrt(x.var(axis=-2, keepdims=True) + 1e-5)
    return gain[:, None] * ((x - mean) / deviation) + bias[:, None]


def attend(x, source, p, kind, heads, blocked):
    B, d, T = x.shape
    q, k, v = (
        (p[kind + n].T @ a).reshape(B, heads, d // heads, -1) for n, a in (("q", x), ("k", source), ("v", source))
    )
    scores = columns(k) @ q / (d // heads) ** 0.5  # keys down, queries across
    if blocked is not None:
        wide = np.broadcast_to(blocked, (B, heads, T, source.shape[-1]))
        scores = np.where(columns(wide), -1e30, scores)
    powers = np.exp(scores - scores.max(axis=-2, keepdims=True))
    return p[kind + "o"].T @ (v @ (powers / powers.sum(axis=-2, keepdims=True))).reshape(B, d, T)


def layer(x, memory, p, heads, memory_blocked, target_blocked):
    own = np.triu(np.ones((x.shape[-1],) * 2), 1).astype(bool)
    if target_blocked is not None:
        own = own + target_blocked
    y = norm(x, p["g1"], p["b1"])
    x = x + attend(y, y, p, "w", heads, own)
    x = x + attend(norm(x, p["g2"], p["b2"]), memory, p, "c", heads, memory_blocked)
    inner = p["w1"].T @ norm(x, p["g3"], p["b3"]) + p["c1"][:, None]
    return x + p["w2"].T @ ((inner + abs(inner)) / 2) + p["c2"][:, None]


def decoder_layer(x, memory, params, heads, memory_blocked=None, target_blocked=None):
    return columns(layer(columns(x), columns(memory), params, heads, memory_blocked, target_blocked))


def decoder(x, memory, layers, heads, gamma, beta, memory_blocked=None, target_blocked=None):
    x, memory = columns(x), columns(memory)
    for params in layers:
        x = layer(x, memory, params, heads, memory_blocked, target_blocked)
    return columns(norm(x, gamma, beta))


def generator(x, projection, bias):
    logits = projection.T @ columns(x) + bias[:, None]
    top = logits.max(axis=1, keepdims=True)
    return columns(logits - top - np.log(np.exp(logits - top).sum(axis=1, keepdims=True)))
