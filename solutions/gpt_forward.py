"""GPT forward · 30 minutes

Write `gpt_forward(ids, params, heads)`, a whole GPT from the token ids (B, T)
to a score for every token of the vocabulary at every position, (B, T, V).
`params` holds `token_embedding` (V, d), `position_embedding` (max_length, d)
and `layers`, a list of dicts, one for each block, with the weights wq, wk, wv
and wo, each (d, d), w1 (d, f) and w2 (f, d).

Contract
    x is the row of each token plus the row of its position, counted from 0;
    nothing is scaled. Each block of `layers`, in order, turns x into the next.
    A block is pre-LN: x = x + attention(LN(x)), then x = x + ffn(LN(x)).
    LN: over the last axis, biased variance (ddof=0), eps = 1e-5 inside the
    root, no gain or bias.
    Attention: q, k, v = LN(x) @ wq, wk, wv; head h takes the features h*dh to
    (h+1)*dh; the scores are q k^T / sqrt(dh); query i must not see key j > i,
    masked before the softmax over the keys; then the heads side by side, times
    wo.
    ffn(x) = gelu(x @ w1) @ w2 with the tanh approximation,
    gelu(x) = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))).
    At the end one more LN, then times the token embedding transposed: raw
    logits, at every position. No output matrix of its own, no biases, no
    dropout.
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: ids below 0, >= V or not integers, a wrong rank, T = 0,
    T > max_length, heads that do not divide d and weights that do not fit raise
    ValueError; float32 in gives float32 out.

    >>> square = np.cos(np.arange(16.0)).reshape(4, 4)
    >>> layer = dict.fromkeys(("wq", "wk", "wv", "wo", "w1", "w2"), square)
    >>> params = {"token_embedding": np.sin(np.arange(12.0)).reshape(3, 4)}
    >>> params["position_embedding"] = np.eye(4)
    >>> params["layers"] = [layer, layer]
    >>> ids = np.array([[2, 0, 1]])
    >>> gpt_forward(ids, params, heads=2).round(3)
    array([[[-0.353, -2.086,  3.08 ],
            [-0.474, -1.906,  2.966],
            [ 0.886,  1.106, -2.332]]])
    >>> gpt_forward(ids[:, :1], params, heads=2).round(3)  # the same, alone
    array([[[-0.353, -2.086,  3.08 ]]])

    With B = 2, T = 4, d = 8, H = 2 and V tokens the scores of each block are
    (2, 2, 4, 4), the logits (2, 4, V), and changing the token at index 3 leaves
    the logits at the indices 0 to 2 as they were.
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


def check_weights(params: dict, heads: int) -> None:
    d = params["token_embedding"].shape[-1]
    if heads < 1 or d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")
    for weights in params["layers"]:
        f = weights["w1"].shape[-1]
        for name, shape in {**dict.fromkeys(("wq", "wk", "wv", "wo"), (d, d)), "w1": (d, f), "w2": (f, d)}.items():
            if weights[name].shape != shape:
                raise ValueError(f"{name} must be {shape}, not {weights[name].shape}")


def block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    x = x + attention(layer_norm(x), params, heads)
    x = x + feed_forward(layer_norm(x), params)
    return x


def check_ids(ids: np.ndarray, V: int, max_length: int) -> None:
    if ids.ndim != 2 or ids.size == 0 or not np.issubdtype(ids.dtype, np.integer):
        raise ValueError(f"ids must be integers of (B, T) with B, T >= 1, not {ids.dtype} of {ids.shape}")
    if ids.shape[1] > max_length:
        raise ValueError(f"{ids.shape[1]} tokens do not fit {max_length} positions")
    if ids.min() < 0 or ids.max() >= V:
        raise ValueError(f"ids must lie in 0..{V - 1}, not {ids.min()}..{ids.max()}")


def embed(ids: np.ndarray, token_embedding: np.ndarray, position_embedding: np.ndarray) -> np.ndarray:
    check_ids(ids, len(token_embedding), len(position_embedding))
    T = ids.shape[1]
    tokens = token_embedding[ids]  # (B, T, d)
    positions = position_embedding[:T]  # (T, d), the same in every row of the batch
    return tokens + positions


def tied_logits(hidden: np.ndarray, token_embedding: np.ndarray) -> np.ndarray:
    normed = layer_norm(hidden)
    return normed @ token_embedding.T  # (B, T, d) @ (d, V)


def gpt_forward(ids: np.ndarray, params: dict, heads: int) -> np.ndarray:
    check_weights(params, heads)
    x = embed(ids, params["token_embedding"], params["position_embedding"])
    for layer in params["layers"]:
        x = block(x, layer, heads)
    return tied_logits(x, params["token_embedding"])
