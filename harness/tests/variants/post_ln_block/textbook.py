import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def layer_norm(x, g, b, eps=1e-6):
    mu = np.mean(x, axis=-1, keepdims=True)
    sigma2 = np.mean((x - mu) ** 2, axis=-1, keepdims=True)
    return g * (x - mu) / np.sqrt(sigma2 + eps) + b


def post_ln_block(x, params, heads):
    B, T, d = x.shape
    dh = d // heads
    q, k, v = ((x @ params[name]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3) for name in ("wq", "wk", "wv"))
    mask = np.tril(np.ones((T, T)))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(dh)
    scores = np.where(mask == 0, -1e9, scores)
    out = (softmax(scores) @ v).transpose(0, 2, 1, 3).reshape(B, T, d) @ params["wo"]
    x = layer_norm(x + out, params["g1"], params["b1"])
    ffn = np.maximum(0, x @ params["w1"] + params["c1"]) @ params["w2"] + params["c2"]
    return layer_norm(x + ffn, params["g2"], params["b2"])
