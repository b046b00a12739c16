import numpy as np


def scaled_dot_product(q, k, v, bias=0.0):
    logits = np.matmul(q, np.swapaxes(k, -1, -2)) / np.sqrt(q.shape[-1]) + bias
    logits = logits - np.max(logits, axis=-1, keepdims=True)
    weights = np.exp(logits) / np.sum(np.exp(logits), axis=-1, keepdims=True)
    return np.matmul(weights, v)


def to_heads(x, heads):
    return np.stack(np.split(x, heads, axis=-1), axis=1)


def from_heads(x):
    return np.concatenate(np.moveaxis(x, 1, 0), axis=-1)


def cross_attention(x, memory, params, heads, memory_padding=None):
    mean, variance = np.mean(x, -1, keepdims=True), np.var(x, -1, keepdims=True)
    q = to_heads((x - mean) * (variance + 1e-5) ** -0.5 @ params["wq"], heads)
    k, v = to_heads(memory @ params["wk"], heads), to_heads(memory @ params["wv"], heads)
    bias = 0.0 if memory_padding is None else np.where(memory_padding, -np.inf, 0.0)[:, None, None, :]
    return x + from_heads(scaled_dot_product(q, k, v, bias)) @ params["wo"]
