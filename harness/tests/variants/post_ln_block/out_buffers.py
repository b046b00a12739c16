import numpy as np


def norm_in_place(x, gain, bias):
    x -= x.mean(axis=-1, keepdims=True)
    x /= np.sqrt(np.square(x).mean(axis=-1, keepdims=True) + 1e-6)
    x *= gain
    x += bias
    return x


def post_ln_block(x, params, heads):
    B, T, d = x.shape
    dh = d // heads
    q, k, v = (np.matmul(x, params[n]).reshape(B, T, heads, dh) for n in ("wq", "wk", "wv"))
    q /= dh**0.5
    weights = np.empty((B, heads, T, T))
    np.matmul(q.transpose(0, 2, 1, 3), k.transpose(0, 2, 3, 1), out=weights)
    np.copyto(weights, -np.inf, where=np.arange(T) > np.arange(T)[:, None])
    weights -= weights.max(axis=-1, keepdims=True)
    np.exp(weights, out=weights)
    weights /= weights.sum(axis=-1, keepdims=True)
    context = np.empty((B, T, heads, dh))
    np.matmul(weights, v.swapaxes(1, 2), out=context.swapaxes(1, 2))
    y = context.reshape(B, T, d) @ params["wo"]
    y += x
    norm_in_place(y, params["g1"], params["b1"])
    hidden = y @ params["w1"]
    hidden += params["c1"]
    np.maximum(hidden, 0, out=hidden)
    y += hidden @ params["w2"]
    y += params["c2"]
    return norm_in_place(y, params["g2"], params["b2"])
