import math

import numpy as np


def _normed(row):
    centred = row - row.sum() / len(row)
    return centred / math.sqrt((centred @ centred) / len(row) + 1e-5)


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    dh = d // heads
    out = np.array(x, dtype=float)
    for b in range(B):
        k, v = memory[b] @ params["wk"], memory[b] @ params["wv"]
        visible = [s for s in range(len(k)) if memory_padding is None or not memory_padding[b, s]]
        if not visible:
            continue
        for t in range(T):
            q = _normed(x[b, t]) @ params["wq"]
            context = np.zeros(d)
            for first in range(0, d, dh):
                scores = {s: q[first : first + dh] @ k[s, first : first + dh] / math.sqrt(dh) for s in visible}
                top = max(scores.values())
                odds = {s: math.exp(score - top) for s, score in scores.items()}
                total = sum(odds.values())
                for s, odd in odds.items():
                    context[first : first + dh] += odd / total * v[s, first : first + dh]
            out[b, t] += context @ params["wo"]
    return out
