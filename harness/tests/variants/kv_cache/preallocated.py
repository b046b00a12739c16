import numpy as np


def norm(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def decode_step(token_ids, cache, params, heads):
    """One buffer (2, L, B, H, max_length, dh) for all keys and values, copied before it is written to."""
    E, P, layers = params["token_embedding"], params["position_embedding"], params["layers"]
    B, d = len(token_ids), E.shape[1]
    if cache is None:
        buffer, n = np.zeros((2, len(layers), B, heads, len(P), d // heads), E.dtype), 0
    else:
        buffer, n = cache["buffer"].copy(), cache["n"]
        if buffer.shape[2] != B:
            raise ValueError("another batch")
    if n == len(P):
        raise ValueError("no position is left")
    x = E[token_ids] + P[n]
    hidden = np.arange(len(P)) > n
    for i, p in enumerate(layers):
        q, buffer[0, i, :, :, n], buffer[1, i, :, :, n] = (
            (norm(x) @ p[w]).reshape(B, heads, -1) for w in ("wq", "wk", "wv")
        )
        scores = (buffer[0, i] @ q[..., None])[..., 0] / (d // heads) ** 0.5
        scores[..., hidden] = -np.inf
        powers = np.exp(scores - scores.max(-1, keepdims=True))
        context = (powers[..., None] * buffer[1, i]).sum(axis=2) / powers.sum(-1, keepdims=True)
        x = x + context.reshape(B, d) @ p["wo"]
        h = norm(x) @ p["w1"]
        x = x + (0.5 * h * (1 + np.tanh((2 / np.pi) ** 0.5 * (h + 0.044715 * h**3)))) @ p["w2"]
    return norm(x) @ E.T, {"buffer": buffer, "n": n + 1}
