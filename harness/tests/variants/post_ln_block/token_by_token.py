import math

import numpy as np


def _normed(row, gain, bias):
    centred = row - row.sum() / row.size
    return centred / math.sqrt(centred @ centred / row.size + 1e-6) * gain + bias


def post_ln_block(x, params, heads):
    """Each token reads the keys and values that have been kept so far, as in generation."""
    B, T, d = x.shape
    dh = d // heads
    out = np.empty((B, T, d))
    for b in range(B):
        keys, values = [], []
        for t in range(T):
            token = x[b, t]
            query = token @ params["wq"]
            keys.append(token @ params["wk"])
            values.append(token @ params["wv"])
            context = np.zeros(d)
            for own in (slice(first, first + dh) for first in range(0, d, dh)):
                scores = np.array([query[own] @ key[own] for key in keys]) / math.sqrt(dh)
                odds = np.exp(scores - scores.max())
                context[own] = odds / odds.sum() @ np.array(values)[:, own]
            token = _normed(token + context @ params["wo"], params["g1"], params["b1"])
            inner = [max(0.0, unit) for unit in token @ params["w1"] + params["c1"]]
            out[b, t] = _normed(token + np.array(inner) @ params["w2"] + params["c2"], params["g2"], params["b2"])
    return out
