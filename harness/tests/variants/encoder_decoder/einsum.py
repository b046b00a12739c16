"""Everything by einsum, the heads as an axis of the weights; masks by `where=` of the reductions."""

import numpy as np


def norm(x, gain, bias):
    mean = np.einsum("btd->bt", x)[..., None] / x.shape[-1]
    centred = x - mean
    variance = np.einsum("btd,btd->bt", centred, centred)[..., None] / x.shape[-1]
    return np.einsum("btd,d->btd", centred / np.sqrt(variance + 1e-5), gain) + bias


def look(x, source, p, kind, heads, blocked):
    d = x.shape[-1]
    wq, wk, wv = (p[kind + n].reshape(d, heads, d // heads) for n in "qkv")
    wo = p[kind + "o"].reshape(heads, d // heads, d)
    scores = np.einsum("btd,dhk,bse,ehk->bhts", x, wq, source, wk, optimize=True) * (heads / d) ** 0.5
    seen = np.ones(scores.shape, bool) if blocked is None else np.broadcast_to(~blocked, scores.shape)
    peak = scores.max(axis=-1, keepdims=True, where=seen, initial=-1e30)
    shares = np.exp(scores - peak, where=seen, out=np.zeros_like(scores))
    total = shares.sum(axis=-1, keepdims=True)
    shares = np.divide(shares, total, where=total > 0, out=np.zeros_like(shares))
    return np.einsum("bhts,bse,ehk,hkd->btd", shares, source, p[kind + "v"].reshape(wv.shape), wo, optimize=True)


def decoder_layer(x, memory, params, heads, memory_blocked=None, target_blocked=None):
    T = x.shape[1]
    future = ~np.tri(T, dtype=bool)
    own = future | (False if target_blocked is None else target_blocked)
    y = norm(x, params["g1"], params["b1"])
    x = x + look(y, y, params, "w", heads, own)
    x = x + look(norm(x, params["g2"], params["b2"]), memory, params, "c", heads, memory_blocked)
    inner = np.einsum("btd,df->btf", norm(x, params["g3"], params["b3"]), params["w1"]) + params["c1"]
    return x + np.einsum("btf,fd->btd", inner.clip(min=0), params["w2"]) + params["c2"]


def decoder(x, memory, layers, heads, gamma, beta, memory_blocked=None, target_blocked=None):
    for params in layers:
        x = decoder_layer(x, memory, params, heads, memory_blocked, target_blocked)
    return norm(x, gamma, beta)


def generator(x, projection, bias):
    logits = np.einsum("btd,dv->btv", x, projection) + bias
    top = np.sort(logits, axis=-1)[..., -1:]
    return logits - (top + np.log(np.einsum("btv->bt", np.exp(logits - top))[..., None]))
