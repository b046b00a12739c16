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


def post_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    raise NotImplementedError
