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


def cross_attention(
    x: np.ndarray,
    memory: np.ndarray,
    params: dict[str, np.ndarray],
    heads: int,
    memory_padding: np.ndarray | None = None,
) -> np.ndarray:
    raise NotImplementedError
