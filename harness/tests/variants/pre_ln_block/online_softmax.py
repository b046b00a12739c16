import numpy as np


def ln(x):
    c = x - x.mean(-1, keepdims=True)
    return c / (np.mean(c * c, -1, keepdims=True) + 1e-5) ** 0.5


def streaming_attention(q, k, v):
    """Key by key, with a running maximum and sum: no (T, T) matrix is ever held."""
    B, H, T, dh = q.shape
    q = q / dh**0.5
    peak = np.full((B, H, T, 1), -np.inf)
    total = np.zeros((B, H, T, 1))
    acc = np.zeros((B, H, T, dh))
    for j in range(T):
        late = slice(j, None)  # only the queries from j on may see key j
        score = (q[:, :, late] * k[:, :, j : j + 1]).sum(-1, keepdims=True)
        higher = np.maximum(peak[:, :, late], score)
        old, new = np.exp(peak[:, :, late] - higher), np.exp(score - higher)
        total[:, :, late] = total[:, :, late] * old + new
        acc[:, :, late] = acc[:, :, late] * old + new * v[:, :, j : j + 1]
        peak[:, :, late] = higher
    return acc / total


def pre_ln_block(x, params, heads):
    B, T, d = x.shape
    y = ln(x)
    q, k, v = ((y @ params[w]).reshape(B, T, heads, -1).swapaxes(1, 2) for w in ("wq", "wk", "wv"))
    x = x + streaming_attention(q, k, v).swapaxes(1, 2).reshape(B, T, d) @ params["wo"]
    u = ln(x) @ params["w1"]
    return x + 0.5 * (u + u * np.tanh((2 / np.pi) ** 0.5 * (u + 0.044715 * u**3))) @ params["w2"]
