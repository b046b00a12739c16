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


def pre_ln_block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    raise NotImplementedError
