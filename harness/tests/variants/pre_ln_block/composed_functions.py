from functools import partial, reduce

import numpy as np


def ln(x):
    return (x - x.mean(-1, keepdims=True)) / (x.var(-1, keepdims=True) + 1e-5) ** 0.5


def gelu(x):
    return x / (1 + np.exp(-2 * (2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


def causal_softmax(scores):
    keep = np.tri(scores.shape[-1])
    peak = np.where(keep > 0, scores, -np.inf).max(-1, keepdims=True)
    odds = np.exp(np.minimum(scores - peak, 0)) * keep
    return odds / odds.sum(-1, keepdims=True)


def attend(params, heads, x):
    q, k, v = (np.stack(np.array_split(x @ params[w], heads, -1), 1) for w in ("wq", "wk", "wv"))
    mixed = causal_softmax(q @ k.swapaxes(2, 3) / q.shape[3] ** 0.5) @ v
    return np.concatenate([mixed[:, h] for h in range(heads)], axis=-1) @ params["wo"]


def feed_forward(params, x):
    return gelu(x @ params["w1"]) @ params["w2"]


def residual(x, branch):
    return x + branch(ln(x))


def pre_ln_block(x, params, heads):
    return reduce(residual, [partial(attend, params, heads), partial(feed_forward, params)], x)
