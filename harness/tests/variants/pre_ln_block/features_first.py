import numpy as np


def pre_ln_block(x, params, heads):
    # Columns are tokens here, as in many papers: W^T x, and the softmax runs down the columns.
    x = np.asfortranarray(x.transpose(0, 2, 1))  # (B, d, T)
    T, dh = x.shape[2], x.shape[1] // heads

    def ln(h):
        h = h - h.mean(axis=1, keepdims=True)
        return h / np.sqrt((h**2).mean(axis=1, keepdims=True) + 1e-5)

    def project(name, h):
        return params[name].T @ h

    y = ln(x)
    q, k, v = (project(name, y).reshape(-1, heads, dh, T) for name in ("wq", "wk", "wv"))
    scores = k.transpose(0, 1, 3, 2) @ q / dh**0.5  # (B, H, key, query)
    scores = np.where(np.tri(T, k=-1, dtype=bool), -np.inf, scores)
    scores = np.exp(scores - scores.max(axis=2, keepdims=True))
    weights = scores / scores.sum(axis=2, keepdims=True)
    x = x + project("wo", (v @ weights).reshape(x.shape))
    u = project("w1", ln(x))
    u = 0.5 * u * (1 + np.tanh((2 / np.pi) ** 0.5 * (u + 0.044715 * u**3)))
    return (x + project("w2", u)).transpose(0, 2, 1)
