"""KV cache · 20 minutes

Write `decode_step(token_ids, cache, params, heads)`, one step of generation
with a GPT: given the newest token of each sequence, token_ids (B,), and what
you kept of the tokens before, score the next one. It returns `(logits, cache)`,
logits (B, V) and the cache for the step that follows. The first call gets
cache=None; what a cache is made of is up to you. `params` is that of
gpt_forward: `token_embedding` (V, d), `position_embedding` (max_length, d) and
`layers`, a list of dicts with wq, wk, wv, wo (d, d), w1 (d, f) and w2 (f, d).

Contract
    At every step the logits equal those of the whole model at that position, as
    if it had read all tokens so far at once.
    The model: token row plus position row, counted from 0; pre-LN blocks,
    x = x + attention(LN(x)), then x = x + ffn(LN(x)); one more LN, then times
    the token embedding transposed. Raw logits, nothing is scaled.
    LN: over the last axis, biased variance (ddof=0), eps = 1e-5 inside the
    root, no gain or bias. Attention: q, k, v = LN(x) @ wq, wk, wv; head h takes
    the features h*dh to (h+1)*dh; softmax over the keys of q k^T / sqrt(dh);
    causal; the heads side by side, times wo. ffn(x) = gelu(x @ w1) @ w2, with
    gelu(x) = 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))). No biases.
    The sequences of a batch are equally long and share nothing.
    A step works on the new token alone: it does not compute keys and values of
    the prefix again. token_ids and params are not modified.
    Follow-up: the cache that was passed in is left as it was, so that two
    continuations of one prefix do not see each other's tokens; running past
    max_length, ids of a wrong rank or beyond the vocabulary, another batch than
    the cache's and heads that do not divide d raise ValueError; float32 in
    gives float32 out.

    >>> square = np.cos(np.arange(16.0)).reshape(4, 4)
    >>> layer = dict.fromkeys(("wq", "wk", "wv", "wo", "w1", "w2"), square)
    >>> params = {"token_embedding": np.sin(np.arange(12.0)).reshape(3, 4)}
    >>> params["position_embedding"] = np.eye(4)
    >>> params["layers"] = [layer, {**layer, "wv": layer["wv"][::-1]}]
    >>> logits, cache = decode_step(np.array([2, 0]), None, params, heads=2)
    >>> logits.round(3)
    array([[-0.353, -2.087,  3.081],
           [-0.039, -2.314,  3.063]])
    >>> logits, cache = decode_step(np.array([0, 1]), cache, params, heads=2)
    >>> logits.round(3)
    array([[-0.21 , -2.183,  3.064],
           [ 0.039,  2.242, -2.97 ]])
    >>> logits, _ = decode_step(np.array([1, 1]), cache, params, heads=2)
    >>> logits.round(3)
    array([[ 0.107,  2.121, -2.88 ],
           [-0.5  ,  1.79 , -1.841]])
"""

from typing import Any

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


def attention(
    x: np.ndarray, params: dict[str, np.ndarray], heads: int, past: dict[str, np.ndarray] | None
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    q = split_heads(x @ params["wq"], heads)  # (B, H, 1, dh): the new token alone asks
    k = split_heads(x @ params["wk"], heads)
    v = split_heads(x @ params["wv"], heads)
    if past is not None:
        k = np.concatenate([past["k"], k], axis=2)  # (B, H, n + 1, dh)
        v = np.concatenate([past["v"], v], axis=2)
    dh = q.shape[-1]
    scores = q @ k.swapaxes(-1, -2) / dh**0.5  # (B, H, 1, n + 1): all are past, so nothing is masked
    weights = softmax(scores)
    context = weights @ v
    return merge_heads(context) @ params["wo"], {"k": k, "v": v}


def feed_forward(x: np.ndarray, params: dict[str, np.ndarray]) -> np.ndarray:
    return gelu(x @ params["w1"]) @ params["w2"]


def embed(ids: np.ndarray, token_embedding: np.ndarray, position_embedding: np.ndarray, n: int) -> np.ndarray:
    tokens = token_embedding[ids]  # (B, d)
    positions = position_embedding[n]  # (d,)
    return tokens + positions


def tied_logits(hidden: np.ndarray, token_embedding: np.ndarray) -> np.ndarray:
    normed = layer_norm(hidden)
    return normed @ token_embedding.T  # (B, d) @ (d, V)


def check_arguments(token_ids: np.ndarray, n: int, past: list, params: dict, heads: int) -> None:
    (V, d), max_length = params["token_embedding"].shape, len(params["position_embedding"])
    if token_ids.ndim != 1 or not np.issubdtype(token_ids.dtype, np.integer):
        raise ValueError(f"token_ids must be integers of (B,), not {token_ids.dtype} of {token_ids.shape}")
    if token_ids.min() < 0 or token_ids.max() >= V:
        raise ValueError(f"token_ids must lie in 0..{V - 1}, not {token_ids.min()}..{token_ids.max()}")
    if n >= max_length:
        raise ValueError(f"all {max_length} positions are taken")
    if past and past[0] and len(past[0]["k"]) != len(token_ids):
        raise ValueError(f"the cache is of {len(past[0]['k'])} sequences, not of {len(token_ids)}")
    if heads < 1 or d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")


def decode_step(token_ids: np.ndarray, cache: Any, params: dict, heads: int) -> tuple[np.ndarray, Any]:
    n, past = (0, [None] * len(params["layers"])) if cache is None else cache
    check_arguments(token_ids, n, past, params, heads)
    x = embed(token_ids, params["token_embedding"], params["position_embedding"], n)[:, None]  # (B, 1, d)
    kept = []
    for layer, before in zip(params["layers"], past, strict=True):
        attended, now = attention(layer_norm(x), layer, heads, before)
        x = x + attended
        x = x + feed_forward(layer_norm(x), layer)
        kept.append(now)
    logits = tied_logits(x[:, 0], params["token_embedding"])
    return logits, (n + 1, kept)
