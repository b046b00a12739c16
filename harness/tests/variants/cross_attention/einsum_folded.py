import numpy as np


def cross_attention(x, memory, params, heads, memory_padding=None):
    d = x.shape[-1]
    dh = d // heads
    wq, wk, wv = (params[name].reshape(d, heads, dh) for name in ("wq", "wk", "wv"))
    wo = params["wo"].reshape(heads, dh, d)
    mean = np.einsum("btd->bt", x)[..., None] / d
    var = np.einsum("btd,btd->bt", x - mean, x - mean)[..., None] / d
    y = (x - mean) / np.sqrt(var + 1e-5)
    # The query and key weights of a head make one bilinear form, its value and output weights one map.
    bilinear = np.einsum("dhe,Dhe->hdD", wq, wk) / dh**0.5
    value = np.einsum("dhe,heD->hdD", wv, wo)
    scores = np.einsum("btd,hdD,bsD->bhts", y, bilinear, memory, optimize=True)
    if memory_padding is not None:
        scores = np.where(memory_padding[:, np.newaxis, np.newaxis], -np.inf, scores)
    p = np.exp(scores - scores.max(-1, keepdims=True))
    p /= np.einsum("bhts->bht", p)[..., None]
    return x + np.einsum("bhts,bsd,hdD->btD", p, memory, value, optimize=True)
