import numpy as np


def multi_head_attention(x, params, heads, blocked=None):
    B, T, d = x.shape
    dh = d // heads
    hidden = None if blocked is None else np.broadcast_to(blocked, (B, heads, T, T))
    output, weights = np.zeros(x.shape), []
    for h in range(heads):
        own = slice(h * dh, (h + 1) * dh)
        q, k, v = (x @ params[name][:, own] for name in ("wq", "wk", "wv"))
        scores = q @ k.swapaxes(1, 2) / dh**0.5
        if hidden is not None:
            scores = np.where(hidden[:, h], -np.inf, scores)
        odds = np.exp(scores - scores.max(axis=2, keepdims=True))
        weights.append(odds / odds.sum(axis=2, keepdims=True))
        output += weights[-1] @ v @ params["wo"][own]  # joining the heads and then wo is a sum over the heads
    return output, np.stack(weights, axis=1)
