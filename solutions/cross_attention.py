"""Cross-attention, the add-on to a decoder-only block · 15 minutes

Your decoder-only block should now read a source as well. Write the sublayer
that lets it, `cross_attention(x, memory, params, heads, memory_padding=None)`.
x is (B, T, d), the encoder's output `memory` is (B, S, d), `params` holds wq,
wk, wv and wo, each (d, d), and `memory_padding`, (B, S), tells the source's
padding from its real positions. The result is (B, T, d), ready for the next
sublayer.

Contract
    x + attention(q = LN(x) @ wq, k = memory @ wk, v = memory @ wv) @ wo: the
    residual is included, and adds the x that was not normalised.
    LN, of x alone: last axis, biased variance, eps = 1e-5 inside the root, no
    gain or bias. The encoder has normalised `memory` already: use it as it is.
    H heads, head h on the features h*dh to (h+1)*dh; scores scaled by
    1 / sqrt(dh); softmax over the S keys. There is no causal mask: every query
    sees the whole source.
    memory_padding is boolean, True = padding: blocked for every query of that
    batch row, before the softmax, however large the values there. None means
    that nothing is padded. (`key_padding_mask` of `nn.MultiheadAttention` says
    it the same way, `scaled_dot_product_attention` the other way round.)
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: a batch row whose memory is all padding returns its x unchanged,
    without NaN or warning; B, d, S or padding that do not fit raise ValueError;
    float32 in gives float32 out.

    >>> params = {name: np.eye(2) for name in ("wq", "wk", "wv", "wo")}
    >>> x = np.array([[[1.0, 3.0]]])
    >>> memory = np.array([[[2.0, 0.0], [9.0, 9.0]]])
    >>> cross_attention(x, memory, params, 1, np.array([[False, True]]))
    array([[[3., 3.]]])
"""

import numpy as np


def layer_norm(x: np.ndarray) -> np.ndarray:
    mean = x.mean(axis=-1, keepdims=True)
    variance = x.var(axis=-1, keepdims=True)
    return (x - mean) / np.sqrt(variance + 1e-5)


def softmax(scores: np.ndarray) -> np.ndarray:
    peak = scores.max(axis=-1, keepdims=True)
    peak = np.where(peak == -np.inf, 0, peak)  # a row of -inf alone: -inf - -inf would be NaN
    weights = np.exp(scores - peak)
    total = weights.sum(axis=-1, keepdims=True)
    return weights / np.where(total == 0, 1, total)


def split_heads(x: np.ndarray, heads: int) -> np.ndarray:
    B, T, d = x.shape
    return x.reshape(B, T, heads, d // heads).transpose(0, 2, 1, 3)  # (B, H, T, dh)


def merge_heads(x: np.ndarray) -> np.ndarray:
    B, H, T, dh = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, T, H * dh)


def check_shapes(
    x: np.ndarray, memory: np.ndarray, params: dict[str, np.ndarray], heads: int, memory_padding: np.ndarray | None
) -> None:
    if x.ndim != 3 or memory.ndim != 3 or x.shape[0] != memory.shape[0] or x.shape[2] != memory.shape[2]:
        raise ValueError(f"x {x.shape} and memory {memory.shape} must be (B, T, d) and (B, S, d)")
    d = x.shape[-1]
    if heads < 1 or d % heads:
        raise ValueError(f"{heads} heads do not divide a width of {d}")
    for name in ("wq", "wk", "wv", "wo"):
        if params[name].shape != (d, d):
            raise ValueError(f"{name} must be {(d, d)}, not {params[name].shape}")
    if memory_padding is not None and memory_padding.shape != memory.shape[:2]:
        raise ValueError(f"memory_padding must be {memory.shape[:2]}, not {memory_padding.shape}")


def cross_attention(
    x: np.ndarray,
    memory: np.ndarray,
    params: dict[str, np.ndarray],
    heads: int,
    memory_padding: np.ndarray | None = None,
) -> np.ndarray:
    check_shapes(x, memory, params, heads, memory_padding)
    normed = layer_norm(x)
    q = split_heads(normed @ params["wq"], heads)  # (B, H, T, dh)
    k = split_heads(memory @ params["wk"], heads)  # (B, H, S, dh)
    v = split_heads(memory @ params["wv"], heads)
    dh = q.shape[-1]
    scores = q @ k.swapaxes(-1, -2) / dh**0.5  # (B, H, T, S)
    if memory_padding is not None:
        scores = np.where(memory_padding[:, None, None, :], -np.inf, scores)
    weights = softmax(scores)
    context = merge_heads(weights @ v)  # (B, T, d)
    projected = context @ params["wo"]
    return x + projected
