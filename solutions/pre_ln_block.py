"""Decoder block · 20 minutes

Write `pre_ln_block(x, params, heads)`, one block of a GPT: causal multi-head
self-attention, then a feed-forward network of two layers with a GELU between
them, each with its layer norm and its residual connection. x is (B, T, d) and
so is the result. `params` holds the weights wq, wk, wv and wo, each (d, d),
w1 (d, f) and w2 (f, d).

Contract
    x = x + attention(LN(x)), then x = x + ffn(LN(x)): the norm comes first
    (pre-LN), the residual adds the x that was not normalised, and no norm
    follows at the end.
    LN: over the last axis, biased variance (ddof=0), eps = 1e-5 inside the
    root, no gain or bias.
    Attention: q, k, v = LN(x) @ wq, wk, wv; head h takes the features h*dh to
    (h+1)*dh; the scores are q k^T / sqrt(dh); query i must not see key j > i,
    masked before the softmax; softmax over the keys; then the heads side by
    side again, times wo.
    ffn(x) = gelu(x @ w1) @ w2 with the tanh approximation,
    gelu(x) = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
    No biases, no dropout, no positions: the order of the tokens comes from the
    embedding, elsewhere.
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: heads that do not divide d, a wrong rank, T = 0 or weights that
    do not fit raise ValueError; float32 in gives float32 out; activations of
    1e3 stay finite.

    >>> params = {name: np.eye(2) for name in ("wq", "wk", "wv", "wo")}
    >>> params |= {"w1": np.eye(2), "w2": np.eye(2)}
    >>> x = np.array([[[1.0, 3.0], [5.0, 1.0]]])  # 2 tokens of 2 features
    >>> pre_ln_block(x, params, heads=1).round(3)
    array([[[-0.159,  4.841],
            [ 6.73 , -0.047]]])
    >>> pre_ln_block(x[:, :1], params, heads=1).round(3)  # the same, alone
    array([[[-0.159,  4.841]]])

    With B = 2, T = 4, d = 8 and H = 2 the scores are (2, 2, 4, 4), row i sees
    the keys 0 to i, and changing the token at index 3 leaves the rows 0 to 2 of
    the result as they were.
"""

import numpy as np


def layer_norm(x: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def softmax(scores: np.ndarray) -> np.ndarray:
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return weights / weights.sum(axis=-1, keepdims=True)


def gelu(x: np.ndarray) -> np.ndarray:
    return 0.5 * x * (1 + np.tanh((2 / np.pi) ** 0.5 * (x + 0.044715 * x**3)))


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
    return gelu(x @ params["w1"]) @ params["w2"]  # (B, T, d) -> (B, T, f) -> (B, T, d)


def check_shapes(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> None:
    if x.ndim != 3 or x.shape[1] == 0:
        raise ValueError(f"x must be (B, T, d) with T >= 1, not {x.shape}")
    d = x.shape[-1]
    if heads < 1 or d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")
    f = params["w1"].shape[-1]
    for name, shape in {**dict.fromkeys(("wq", "wk", "wv", "wo"), (d, d)), "w1": (d, f), "w2": (f, d)}.items():
        if params[name].shape != shape:
            raise ValueError(f"{name} must be {shape}, not {params[name].shape}")


def pre_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    check_shapes(x, params, heads)
    x = x + attention(layer_norm(x), params, heads)
    x = x + feed_forward(layer_norm(x), params)
    return x
