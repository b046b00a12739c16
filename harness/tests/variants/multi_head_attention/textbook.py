import numpy as np


def softmax(x):
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def multi_head_attention(x, params, heads, blocked=None):
    B, T, d = x.shape
    dh = d // heads
    Q = (x @ params["wq"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    K = (x @ params["wk"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    V = (x @ params["wv"]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3)
    scores = Q @ K.transpose(0, 1, 3, 2) / np.sqrt(dh)
    if blocked is not None:
        scores = np.where(blocked, -1e9, scores)
    weights = softmax(scores)
    out = (weights @ V).transpose(0, 2, 1, 3).reshape(B, T, d)
    return out @ params["wo"], weights
