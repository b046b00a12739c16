import numpy as np


def ln(x):
    d = x.shape[-1]
    centre = np.eye(d) - 1 / d
    y = x @ centre
    return y * ((y**2).sum(-1, keepdims=True) / d + 1e-5) ** -0.5


def heads_of(x, heads):
    return np.moveaxis(x.reshape(*x.shape[:2], heads, -1), 2, 1)


def block(x, p, heads):
    y = ln(x)
    q, k, v = (heads_of(y @ p[name], heads) for name in ("wq", "wk", "wv"))
    T = x.shape[1]
    scores = (q * q.shape[-1] ** -0.5) @ np.moveaxis(k, -1, -2)
    seen = np.arange(T)[:, None] >= np.arange(T)
    top = np.where(seen, scores, -np.inf).max(-1, keepdims=True)
    powers = np.where(seen, np.exp(np.minimum(scores - top, 0)), 0)
    context = (powers @ v) / powers.sum(-1, keepdims=True)
    x = x + np.moveaxis(context, 1, 2).reshape(x.shape) @ p["wo"]
    h = ln(x) @ p["w1"]
    return x + (h * 0.5 * (1 + np.tanh(0.7978845608028654 * h * (1 + 0.044715 * h * h)))) @ p["w2"]


def stack(x, layers, heads):
    return stack(block(x, layers[0], heads), layers[1:], heads) if layers else x


def gpt_forward(ids, params, heads):
    table = params["token_embedding"]
    x = (
        np.eye(len(table))[ids] @ table
        + np.eye(ids.shape[1], len(params["position_embedding"])) @ params["position_embedding"]
    )
    return ln(stack(x, list(params["layers"]), heads)) @ table.T


def next_token(logits, temperature=1.0, top_k=None, top_p=None, rng=None):
    """Row by row, with the generator's own choice."""
    return np.array([draw(row, temperature, top_k, top_p, rng) for row in logits])


def draw(row, temperature, top_k, top_p, rng):
    if temperature == 0 or top_k == 1:
        return int(row.argmax())
    ids = np.argsort(row)[::-1][:top_k]
    z = row[ids] / temperature
    p = np.exp(z - z[0])
    p = p / p.sum()
    if top_p is not None:
        count = np.searchsorted(np.cumsum(p), top_p) + 1
        ids, p = ids[:count], p[:count] / p[:count].sum()
    return int(rng.choice(ids, p=p))


def generate(ids, steps, params, heads, temperature=0.0, top_k=None, top_p=None, rng=None):
    if steps == 0:
        return ids.copy()
    token = next_token(gpt_forward(ids, params, heads)[:, -1], temperature, top_k, top_p, rng)
    return generate(np.column_stack([ids, token]), steps - 1, params, heads, temperature, top_k, top_p, rng)
