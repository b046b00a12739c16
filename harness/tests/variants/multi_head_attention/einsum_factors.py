import numpy as np


def multi_head_attention(x, params, heads, blocked=None):
    d = x.shape[2]
    wq, wk, wv = (params[n].reshape(d, heads, d // heads) for n in ("wq", "wk", "wv"))
    wo = params["wo"].reshape(heads, d // heads, d)
    # The two weights that meet in the scores make one form a head, the other two one map.
    scores = np.einsum("bid,dhe,Dhe,bjD->bhij", x, wq, wk, x, optimize=True) * (heads / d) ** 0.5
    if blocked is not None:
        scores = scores + np.where(blocked, -np.inf, 0.0)
    p = np.exp(scores - scores.max(axis=3)[..., None])
    p /= np.einsum("bhij->bhi", p)[..., None]
    return np.einsum("bhij,bjd,dhe,heD->biD", p, x, wv, wo, optimize=True), p
