import numpy as np


def ln(x):
    m = np.average(x, axis=-1)[..., np.newaxis]
    return (x - m) / np.sqrt(np.average((x - m) ** 2, axis=-1)[..., np.newaxis] + 1e-5)


def last_row(prefix, params, heads):
    """The attention of the last token of a prefix; nothing lies ahead of it, so there is nothing to mask."""
    B, n, d = prefix.shape
    query = (prefix[:, -1] @ params["wq"]).reshape(B, heads, -1)
    keys = (prefix @ params["wk"]).reshape(B, n, heads, -1)
    values = (prefix @ params["wv"]).reshape(B, n, heads, -1)
    scores = np.einsum("bhe,bnhe->bhn", query, keys) / query.shape[-1] ** 0.5
    scores -= scores.max(axis=-1, keepdims=True)
    weights = np.exp(scores)
    context = np.einsum("bhn,bnhe->bhe", weights, values) / weights.sum(-1)[..., None]
    return context.reshape(B, d) @ params["wo"]


def pre_ln_block(x, params, heads):
    y = ln(x)
    x = x + np.stack([last_row(y[:, : t + 1], params, heads) for t in range(x.shape[1])], axis=1)
    u = ln(x) @ params["w1"]
    return x + (0.5 * u * (1 + np.tanh(0.7978845608028654 * (u + 0.044715 * u**3)))) @ params["w2"]
