"""Decoder block of 2017 · 15 minutes

Write `post_ln_block(x, params, heads)`, one block of a decoder as the first
transformer had it: causal multi-head self-attention, then a feed-forward
network of two layers, each with its residual connection and its layer norm. x
is (B, T, d) and so is the result. `params` holds wq, wk, wv and wo, each
(d, d); w1 (d, f), c1 (f,), w2 (f, d) and c2 (d,) for the feed-forward; and g1,
b1, g2 and b2, each (d,), for the norms.

Contract
    x = LN(x + attention(x)), then x = LN(x + ffn(x)): the norm comes last
    (post-LN), over the sum of the residual and the branch; each branch gets x
    as it is.
    LN: over the last axis, (x - mean) / sqrt(variance + eps) * g + b with the
    biased variance (ddof=0) and eps = 1e-6 inside the root. The norm after the
    attention has g1 and b1, the one after the feed-forward g2 and b2.
    Attention: q, k, v = x @ wq, wk, wv; head h takes the features h*dh to
    (h+1)*dh; the scores are q k^T / sqrt(dh); query i must not see key j > i,
    masked before the softmax; softmax over the keys; then the heads side by
    side again, times wo. No biases here.
    ffn(x) = relu(x @ w1 + c1) @ w2 + c2.
    No dropout, no positions: the order of the tokens comes from the embedding,
    elsewhere.
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: heads that do not divide d, a wrong rank, T = 0 or weights that
    do not fit raise ValueError; float32 in gives float32 out; activations of
    1e3 stay finite.

    >>> params = {name: np.eye(2) for name in ("wq", "wk", "wv", "wo")}
    >>> params |= {"w1": np.eye(2), "c1": np.ones(2), "w2": np.eye(2)}
    >>> params |= {"c2": np.zeros(2), "g1": np.ones(2), "b1": np.zeros(2)}
    >>> params |= {"g2": np.array([1.0, 2.0]), "b2": np.array([0.0, 5.0])}
    >>> x = np.array([[[1.0, 3.0], [5.0, 1.0]]])  # 2 tokens of 2 features
    >>> post_ln_block(x, params, heads=1).round(3)
    array([[[-1.,  7.],
            [ 1.,  3.]]])
    >>> post_ln_block(x[:, :1], params, heads=1).round(3)  # the same, alone
    array([[[-1.,  7.]]])
"""

import numpy as np


def layer_norm(x: np.ndarray, gamma: np.ndarray, beta: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-6) * gamma + beta


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    B, T, d = x.shape
    return x.reshape(B, T, heads, d // heads).transpose(0, 2, 1, 3)  # (B, H, T, dh)


def merge_heads(x: np.ndarray) -> np.ndarray:
    B, H, T, dh = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, T, H * dh)


def attention(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    q = split_heads(x @ params["wq"], heads)
    k = split_heads(x @ params["wk"], heads)
    v = split_heads(x @ params["wv"], heads)
    T, dh = q.shape[-2:]
    scores = q @ k.swapaxes(-1, -2) / dh**0.5  # (B, H, T, T): queries down, keys across
    future = np.triu(np.ones((T, T), dtype=bool), k=1)
    scores = np.where(future, -np.inf, scores)
    weights = softmax(scores)
    context = weights @ v  # (B, H, T, dh)
    return merge_heads(context) @ params["wo"]


def feed_forward(x: np.ndarray, params: dict[str, np.ndarray]) -> np.ndarray:
    hidden = np.maximum(x @ params["w1"] + params["c1"], 0)  # (B, T, f)
    return hidden @ params["w2"] + params["c2"]


def check_shapes(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> None:
    if x.ndim != 3 or x.shape[1] == 0:
        raise ValueError(f"x must be (B, T, d) with T >= 1, not {x.shape}")
    d = x.shape[-1]
    if heads < 1 or d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")
    f = params["w1"].shape[-1]
    shapes = dict.fromkeys(("wq", "wk", "wv", "wo"), (d, d)) | dict.fromkeys(("c2", "g1", "b1", "g2", "b2"), (d,))
    for name, shape in (shapes | {"w1": (d, f), "c1": (f,), "w2": (f, d)}).items():
        if params[name].shape != shape:
            raise ValueError(f"{name} must be {shape}, not {params[name].shape}")


def post_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    check_shapes(x, params, heads)
    x = layer_norm(x + attention(x, params, heads), params["g1"], params["b1"])
    x = layer_norm(x + feed_forward(x, params), params["g2"], params["b2"])
    return x
