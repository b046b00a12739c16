import numpy as np


def ln(x):
    return (x - x.mean(-1, keepdims=True)) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def decode_step(token_ids, cache, params, heads):
    """The textbook: lists that grow, in place."""
    if cache is None:
        cache = {"n": 0, "k": [[] for _ in params["layers"]], "v": [[] for _ in params["layers"]]}
    x = params["token_embedding"][token_ids] + params["position_embedding"][cache["n"]]
    cache["n"] += 1
    B, d = x.shape
    dh = d // heads
    for p, keys, values in zip(params["layers"], cache["k"], cache["v"], strict=True):
        h = ln(x)
        q, k, v = ((h @ p[n]).reshape(B, heads, dh) for n in ("wq", "wk", "wv"))
        keys.append(k)
        values.append(v)
        scores = np.einsum("bhc,nbhc->bhn", q, np.array(keys)) / np.sqrt(dh)
        e = np.exp(scores - scores.max(-1, keepdims=True))
        x = x + np.einsum("bhn,nbhc->bhc", e / e.sum(-1, keepdims=True), np.array(values)).reshape(B, d) @ p["wo"]
        h = ln(x) @ p["w1"]
        x = x + 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3))) @ p["w2"]
    return ln(x) @ params["token_embedding"].T, cache
