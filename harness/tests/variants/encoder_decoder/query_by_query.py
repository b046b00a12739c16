"""One query of one head at a time, which takes only the keys that it may see: nothing is filled."""

import numpy as np


def norm(row, gain, bias):
    return (row - np.mean(row)) / np.sqrt(np.var(row) + 1e-5) * gain + bias


def read(query, keys, values, open_to, heads):
    """What one token's query finds; `open_to` tells for each head which keys it may see."""
    found = np.zeros_like(query)
    size = len(query) // heads
    for h in range(heads):
        own, seen = slice(h * size, (h + 1) * size), np.flatnonzero(open_to[h])
        if len(seen):
            scores = keys[seen, own] @ query[own] / size**0.5
            shares = np.exp(scores - max(scores))
            found[own] = shares @ values[seen, own] / sum(shares)
    return found


def opened(blocked, *shape):
    return np.ones(shape, bool) if blocked is None else ~np.broadcast_to(blocked, shape)


def decoder_layer(x, memory, params, heads, memory_blocked=None, target_blocked=None):
    p = params
    B, T, _ = x.shape
    source_open = opened(memory_blocked, B, heads, T, memory.shape[1])
    own_open = opened(target_blocked, B, heads, T, T)
    out = np.empty_like(x)
    for b in range(B):
        normed = np.array([norm(row, p["g1"], p["b1"]) for row in x[b]])
        keys, values = normed @ p["wk"], normed @ p["wv"]
        far_keys, far_values = memory[b] @ p["ck"], memory[b] @ p["cv"]
        for t in range(T):
            n, row = t + 1, x[b, t]
            row = row + read(normed[t] @ p["wq"], keys[:n], values[:n], own_open[b, :, t, :n], heads) @ p["wo"]
            query = norm(row, p["g2"], p["b2"]) @ p["cq"]
            row = row + read(query, far_keys, far_values, source_open[b, :, t], heads) @ p["co"]
            inner = norm(row, p["g3"], p["b3"]) @ p["w1"] + p["c1"]
            out[b, t] = row + (inner * (inner > 0)) @ p["w2"] + p["c2"]
    return out


def decoder(x, memory, layers, heads, gamma, beta, memory_blocked=None, target_blocked=None):
    if not layers:
        return np.array([[norm(row, gamma, beta) for row in rows] for rows in x])
    after = decoder_layer(x, memory, layers[0], heads, memory_blocked, target_blocked)
    return decoder(after, memory, layers[1:], heads, gamma, beta, memory_blocked, target_blocked)


def generator(x, projection, bias):
    out = np.empty((*x.shape[:-1], len(bias)), x.dtype)
    for place in np.ndindex(x.shape[:-1]):
        logits = x[place] @ projection + bias
        out[place] = logits - logits.max() - np.log(np.exp(logits - logits.max()).sum())
    return out
