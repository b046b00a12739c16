import math

import numpy as np


def normed(x):
    return np.array([(row - row.mean()) / math.sqrt(row.var() + 1e-5) for row in x])


def attended(y, p, heads):
    T, d = y.shape
    width = d // heads
    out = np.zeros((T, d))
    for h in range(heads):
        own = slice(h * width, (h + 1) * width)
        q, k, v = y @ p["wq"][:, own], y @ p["wk"][:, own], y @ p["wv"][:, own]
        for i in range(T):
            scores = k[: i + 1] @ q[i] / math.sqrt(width)
            weights = np.exp(scores - scores.max())
            out[i, own] = weights @ v[: i + 1] / weights.sum()
    return out @ p["wo"]


def fed(y, p):
    h = y @ p["w1"]
    return (0.5 * h * (1 + np.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)))) @ p["w2"]


def one(tokens, params, heads):
    x = np.array([params["token_embedding"][t] + params["position_embedding"][n] for n, t in enumerate(tokens)])
    for p in params["layers"]:
        x = x + attended(normed(x), p, heads)
        x = x + fed(normed(x), p)
    return normed(x) @ params["token_embedding"].T


def gpt_forward(ids, params, heads):
    return np.stack([one(tokens, params, heads) for tokens in ids])


def kept(row, temperature, top_k, top_p):
    """What is left of a row, as (token, weight), the likeliest first."""
    top = max(row)
    each = sorted(enumerate(math.exp((score - top) / temperature) for score in row), key=lambda pair: -pair[1])
    each = each[: top_k or len(each)]
    goal = (top_p or 1.0) * sum(weight for _, weight in each)
    left, total = [], 0.0
    for token, weight in each:
        if top_p is not None and total >= goal:
            break
        left.append((token, weight))
        total += weight
    return left, total


def next_token(logits, temperature=1.0, top_k=None, top_p=None, rng=None):
    tokens = []
    for row in logits.tolist():
        if temperature == 0 or top_k == 1:
            tokens.append(row.index(max(row)))
            continue
        left, total = kept(row, temperature, top_k, top_p)
        point = rng.uniform(0, total)
        chosen = left[-1][0]
        for token, weight in left:
            point -= weight
            if point < 0:
                chosen = token
                break
        tokens.append(chosen)
    return np.array(tokens)


def generate(ids, steps, params, heads, temperature=0.0, top_k=None, top_p=None, rng=None):
    texts = ids.tolist()
    for _ in range(steps):
        logits = gpt_forward(np.array(texts), params, heads)[:, -1]
        for text, token in zip(texts, next_token(logits, temperature, top_k, top_p, rng).tolist(), strict=True):
            text.append(token)
    return np.array(texts)
