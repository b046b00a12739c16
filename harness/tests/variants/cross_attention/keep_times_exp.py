import numpy as np


def ln(x):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5) ** 0.5


def softmax_over(scores, keep):
    peak = np.where(keep, scores, -np.inf).max(axis=-1, keepdims=True)
    peak = np.where(np.isneginf(peak), 0.0, peak)
    odds = keep * np.exp(np.where(keep, scores - peak, 0.0))
    total = odds.sum(axis=-1, keepdims=True)
    return odds / (total + (total == 0))


def cross_attention(x, memory, params, heads, memory_padding=None):
    keep = np.full(memory.shape[:2], True) if memory_padding is None else np.logical_not(memory_padding)
    memory = memory * keep[..., None]  # however large the padding is, it is gone from here on
    B, T, d = x.shape
    q, k, v = (
        (source @ params[name]).reshape(B, -1, heads, d // heads).transpose(0, 2, 1, 3)
        for source, name in ((ln(x), "wq"), (memory, "wk"), (memory, "wv"))
    )
    weights = softmax_over(q @ k.transpose(0, 1, 3, 2) / (d // heads) ** 0.5, keep[:, None, None, :])
    return x + (weights @ v).transpose(0, 2, 1, 3).reshape(B, T, d) @ params["wo"]
