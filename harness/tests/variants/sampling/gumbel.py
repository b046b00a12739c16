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
    """By Gumbel noise: the largest noisy score is a draw, and nothing need be normalised."""
    if temperature == 0 or top_k == 1:
        return np.argmax(logits, axis=1)
    z = logits / temperature
    rank = np.argsort(np.argsort(-z, axis=1), axis=1)
    if top_k is not None:
        z = np.where(rank < top_k, z, -np.inf)
    if top_p is not None:
        p = np.exp(z - z.max(axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        likelier = (p[:, None, :] * (rank[:, None, :] < rank[:, :, None])).sum(axis=2)
        z = np.where(likelier < top_p, z, -np.inf)
    return np.argmax(z + rng.gumbel(size=z.shape), axis=1)


def generate(ids, steps, params, heads, temperature=0.0, top_k=None, top_p=None, rng=None):
    out = np.zeros((ids.shape[0], ids.shape[1] + steps), ids.dtype)
    out[:, : ids.shape[1]] = ids
    for n in range(ids.shape[1], out.shape[1]):
        out[:, n] = next_token(gpt_forward(out[:, :n], params, heads)[:, -1], temperature, top_k, top_p, rng)
    return out
