import math

import numpy as np


def attention(q, k, v, blocked=None):
    B, H, T, dh = q.shape
    S = k.shape[2]
    hidden = np.broadcast_to(False if blocked is None else blocked, (B, H, T, S))
    output, weights = np.zeros((B, H, T, dh)), np.zeros((B, H, T, S))
    for b, h, t in np.ndindex(B, H, T):
        visible = [s for s in range(S) if not hidden[b, h, t, s]]
        scores = [float(q[b, h, t] @ k[b, h, s]) / math.sqrt(dh) for s in visible]
        odds = [math.exp(score - max(scores)) for score in scores]
        for s, odd in zip(visible, odds, strict=True):
            weights[b, h, t, s] = odd / math.fsum(odds)
            output[b, h, t] += weights[b, h, t, s] * v[b, h, s]
    return output, weights
