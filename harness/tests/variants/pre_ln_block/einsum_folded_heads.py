import numpy as np


def norm(x):
    centred = x - np.einsum("btd->bt", x)[:, :, None] / x.shape[2]
    variance = np.einsum("btd,btd->bt", centred, centred)[:, :, None] / x.shape[2]
    return centred * (variance + 1e-5) ** -0.5


def pre_ln_block(x, params, heads):
    d = x.shape[2]
    dh = d // heads
    wq, wk, wv = (params[name].reshape(d, heads, dh) for name in ("wq", "wk", "wv"))
    wo = params["wo"].reshape(heads, dh, d)
    y = norm(x)
    scores = np.einsum("bid,dhe,Dhe,bjD->bhij", y, wq, wk, y, optimize=True) * dh**-0.5
    i, j = np.ogrid[: x.shape[1], : x.shape[1]]
    scores[:, :, j > i] = -np.inf
    p = np.exp(scores - scores.max(axis=3)[..., None])
    p = np.einsum("bhij,bhi->bhij", p, 1 / np.einsum("bhij->bhi", p))
    x = x + np.einsum("bhij,bjd,dhe,heD->biD", p, y, wv, wo, optimize=True)
    u = np.einsum("btd,df->btf", norm(x), params["w1"])
    activated = u * 0.5 * (1 + np.tanh((2 / np.pi) ** 0.5 * (u + 0.044715 * u * u * u)))
    return x + np.einsum("btf,fd->btd", activated, params["w2"])
