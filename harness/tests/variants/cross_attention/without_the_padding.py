import numpy as np


def _layer_norm(tokens):
    mean, std = tokens.mean(axis=1, keepdims=True), np.sqrt(tokens.var(axis=1, keepdims=True) + 1e-5)
    return (tokens - mean) / std


def _read(tokens, source, params, heads):
    if len(source) == 0:
        return tokens.copy()
    q, k, v = _layer_norm(tokens) @ params["wq"], source @ params["wk"], source @ params["wv"]
    contexts = []
    for qh, kh, vh in zip(*(np.array_split(a, heads, axis=1) for a in (q, k, v)), strict=True):
        scores = qh @ kh.T / qh.shape[1] ** 0.5
        odds = np.exp(scores - scores.max(axis=1, keepdims=True))
        contexts.append(odds @ vh / odds.sum(axis=1, keepdims=True))
    return tokens + np.hstack(contexts) @ params["wo"]


def cross_attention(x, memory, params, heads, memory_padding=None):
    # What is padded is cut away beforehand, so that no mask is needed at all.
    sources = memory if memory_padding is None else [m[~p] for m, p in zip(memory, memory_padding, strict=True)]
    return np.stack([_read(tokens, source, params, heads) for tokens, source in zip(x, sources, strict=True)])
