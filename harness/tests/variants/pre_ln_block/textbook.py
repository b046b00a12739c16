import numpy as np


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    var = x.var(-1, keepdims=True)
    return (x - mean) / np.sqrt(var + 1e-5)


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attention(x, params, heads):
    B, T, d = x.shape
    dh = d // heads
    q = (x @ params["wq"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    k = (x @ params["wk"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    v = (x @ params["wv"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(dh)
    scores = np.where(np.tril(np.ones((T, T))) == 0, -1e9, scores)
    out = softmax(scores) @ v
    return out.transpose(0, 2, 1, 3).reshape(B, T, d) @ params["wo"]


def pre_ln_block(x, params, heads):
    x = x + attention(layer_norm(x), params, heads)
    x = x + gelu(layer_norm(x) @ params["w1"]) @ params["w2"]
    return x
