import numpy as np


def norm(rows):
    return (rows - rows.mean(1, keepdims=True)) / np.sqrt(rows.var(1, keepdims=True) + 1e-5)


def step(x, layer, kept, heads):
    """One token of every sequence through one block; keys and values are kept."""
    B, d = x.shape
    y = norm(x)
    q, k, v = ((y @ layer[n]).reshape(B, heads, d // heads) for n in ("wq", "wk", "wv"))
    kept.append((k, v))
    keys, values = (np.stack(part, axis=2) for part in zip(*kept, strict=True))  # (B, H, n, dh)
    scores = (keys @ q[..., None])[..., 0] / np.sqrt(d // heads)
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    weights /= weights.sum(axis=-1, keepdims=True)
    x = x + (weights[:, :, None] @ values)[:, :, 0].reshape(B, d) @ layer["wo"]
    h = norm(x) @ layer["w1"]
    return x + (0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))) @ layer["w2"]


def gpt_forward(ids, params, heads):
    caches = [[] for _ in params["layers"]]
    logits = []
    for t in range(ids.shape[1]):
        x = params["token_embedding"][ids[:, t]] + params["position_embedding"][t]
        for layer, kept in zip(params["layers"], caches, strict=True):
            x = step(x, layer, kept, heads)
        logits.append(norm(x) @ params["token_embedding"].T)
    return np.stack(logits, axis=1)
