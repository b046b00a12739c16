import numpy as np
import numpy.ma as ma


def ln(x):
    return (x - x.mean(axis=2, keepdims=True)) / np.sqrt(x.var(axis=2, keepdims=True) + 1e-5)


def pre_ln_block(x, params, heads):
    B, T, d = x.shape
    hidden = np.broadcast_to(~np.tri(T, dtype=bool), (heads, B, T, T))
    y = ln(x)
    q, k, v = (np.stack(np.split(y @ params[w], heads, axis=-1)) for w in ("wq", "wk", "wv"))
    scores = ma.masked_array(q @ k.swapaxes(-1, -2) / (d // heads) ** 0.5, mask=hidden)
    odds = ma.exp(scores - scores.max(axis=-1, keepdims=True))
    weights = (odds / odds.sum(axis=-1, keepdims=True)).filled(0.0)
    x = x + np.concatenate(weights @ v, axis=-1) @ params["wo"]
    u = ln(x) @ params["w1"]
    return x + (u * 0.5 * (1 + np.tanh(np.sqrt(2 / np.pi) * (u + 0.044715 * u**3)))) @ params["w2"]
