import math

import numpy as np


def multi_head_attention(x, params, heads, blocked=None):
    B, T, d = x.shape
    dh = d // heads
    weights, output = np.zeros((B, heads, T, T)), np.zeros((B, T, d))
    hidden = np.broadcast_to(False if blocked is None else blocked, weights.shape)
    for b in range(B):
        q, k, v = x[b] @ params["wq"], x[b] @ params["wk"], x[b] @ params["wv"]
        for t in range(T):
            context = np.zeros(d)
            for h in range(heads):
                own = range(h * dh, (h + 1) * dh)
                scores = {
                    s: math.fsum(q[t, i] * k[s, i] for i in own) / math.sqrt(dh)
                    for s in range(T)
                    if not hidden[b, h, t, s]
                }
                top = max(scores.values())
                odds = {s: math.exp(score - top) for s, score in scores.items()}
                for s, odd in odds.items():
                    weights[b, h, t, s] = odd / sum(odds.values())
                    context[own.start : own.stop] += weights[b, h, t, s] * v[s, own.start : own.stop]
            output[b, t] = context @ params["wo"]
    return output, weights
