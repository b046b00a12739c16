import numpy as np


def layer_norm(x):
    mean = x.mean(-1, keepdims=True)
    return (x - mean) / np.sqrt(x.var(-1, keepdims=True) + 1e-5)


def gelu(x):
    return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))


def attention(x, p, heads):
    B, T, d = x.shape
    dh = d // heads
    q, k, v = ((x @ p[n]).reshape(B, T, heads, dh).transpose(0, 2, 1, 3) for n in ("wq", "wk", "wv"))
    scores = q @ k.transpose(0, 1, 3, 2) / np.sqrt(dh)
    scores = np.where(np.tril(np.ones((T, T))) == 0, -1e9, scores)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    out = e / e.sum(-1, keepdims=True) @ v
    return out.transpose(0, 2, 1, 3).reshape(B, T, d) @ p["wo"]


def gpt_forward(ids, params, heads):
    E = params["token_embedding"]
    x = E[ids] + params["position_embedding"][: ids.shape[1]]
    for p in params["layers"]:
        x = x + attention(layer_norm(x), p, heads)
        x = x + gelu(layer_norm(x) @ p["w1"]) @ p["w2"]
    return layer_norm(x) @ E.T


def next_token(logits, temperature=1.0, top_k=None, top_p=None, rng=None):
    """The textbook: filters fill with -1e9, one uniform number a row, and a search in the running sum."""
    if temperature == 0 or top_k == 1:
        return logits.argmax(axis=-1)
    logits = logits / temperature
    if top_k is not None:
        kth = np.partition(logits, -min(top_k, logits.shape[-1]), axis=-1)[:, [-min(top_k, logits.shape[-1])]]
        logits = np.where(logits < kth, logits - 1e9, logits)
    if top_p is not None:
        order = np.argsort(logits, axis=-1)[:, ::-1]
        p = softmax(np.take_along_axis(logits, order, axis=-1))
        remove = np.cumsum(p, axis=-1) >= top_p
        remove[:, 1:] = remove[:, :-1].copy()
        remove[:, 0] = False
        back = np.empty_like(remove)
        np.put_along_axis(back, order, remove, axis=-1)
        logits = np.where(back, logits - 1e9, logits)
    sums = np.cumsum(softmax(logits), axis=-1)
    sums[:, -1] = 1.0
    return np.array([np.searchsorted(row, u, side="right") for row, u in zip(sums, rng.random(len(sums)), strict=True)])


def softmax(z):
    e = np.exp(z - z.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def generate(ids, steps, params, heads, temperature=0.0, top_k=None, top_p=None, rng=None):
    for _ in range(steps):
        logits = gpt_forward(ids, params, heads)[:, -1, :]
        ids = np.hstack([ids, next_token(logits, temperature, top_k, top_p, rng).reshape(-1, 1)])
    return ids
