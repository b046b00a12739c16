import numpy as np


def layer_norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def cross_attention(x, memory, params, heads, memory_padding=None):
    B, T, d = x.shape
    S = memory.shape[1]
    dh = d // heads
    q = (layer_norm(x) @ params["wq"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    k = (memory @ params["wk"]).reshape(B, S, heads, dh).transpose(0, 2, 1, 3)
    v = (memory @ params["wv"]).reshape(B, S, heads, dh).transpose(0, 2, 1, 3)
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(dh)
    if memory_padding is not None:
        scores = np.where(memory_padding[:, None, None, :], -1e9, scores)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    weights = weights / weights.sum(-1, keepdims=True)
    out = (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, d)
    return x + out @ params["wo"]
