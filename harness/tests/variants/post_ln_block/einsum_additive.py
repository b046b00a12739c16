import numpy as np


def norm(x, gain, bias):
    centred = x - np.einsum("btd->bt", x)[..., None] / x.shape[2]
    variance = np.einsum("btd,btd->bt", centred, centred)[..., None] / x.shape[2]
    return np.einsum("btd,d->btd", centred * (variance + 1e-6) ** -0.5, gain) + bias


def post_ln_block(x, params, heads):
    d = x.shape[2]
    wq, wk, wv = (params[name].reshape(d, heads, -1) for name in ("wq", "wk", "wv"))
    wo = params["wo"].reshape(heads, -1, d)
    position = np.arange(x.shape[1])
    bias = np.where(position[None] > position[:, None], -np.inf, 0.0)
    scores = np.einsum("bid,dhe,Dhe,bjD->bhij", x, wq, wk, x, optimize=True) * (heads / d) ** 0.5 + bias
    p = np.exp(scores - scores.max(axis=3, keepdims=True))
    p /= p.sum(axis=3, keepdims=True)
    x = norm(x + np.einsum("bhij,bjd,dhe,heD->biD", p, x, wv, wo, optimize=True), params["g1"], params["b1"])
    u = np.einsum("btd,df->btf", x, params["w1"]) + params["c1"]
    return norm(x + params["c2"] + np.einsum("btf,fd->btd", u * (u > 0), params["w2"]), params["g2"], params["b2"])
