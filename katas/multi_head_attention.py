"""Multi-head attention · 15 minutes

Write `multi_head_attention(x, params, heads, blocked=None)`, the self-attention
of a transformer with its four projections and nothing around it. x is (B, T, d)
and `params` holds the weights wq, wk, wv and wo, each (d, d). A mask, where one
is given, tells which positions a query must not look at. Two arrays come back:
the output and the attention weights.

Contract
    q, k, v = x @ wq, x @ wk, x @ wv; head h takes the features h*dh to
    (h+1)*dh, dh = d / H; scores q k^T / sqrt(dh), softmax over the keys; the
    mixed values of the heads side by side again, times wo. The output is
    (B, T, d); the weights are those of every head, (B, H, T, T).
    The layer alone: x is used as it comes, without a norm, and there is no
    residual, no bias and no dropout. Those are the block's business.
    `blocked` is boolean, True = this query must not see this key, before the
    softmax. It broadcasts to (B, H, T, T), so (T, T) and (B, 1, 1, T) work.
    None blocks nothing: the layer is causal only when the mask is. (True says
    the same in `nn.MultiheadAttention` of torch, which returns the mean of the
    weights over the heads, though.)
    Each query has something to see: a row with everything blocked does not
    occur.
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: heads that do not divide d, a wrong rank, weights or a mask that
    do not fit raise ValueError; float32 in gives float32 out; activations of
    1e3 stay finite.

    >>> params = {name: np.eye(2) for name in ("wq", "wk", "wv", "wo")}
    >>> x = np.array([[[1.0, 0.0], [1.0, 2.0]]])  # 2 tokens of 2 features
    >>> hidden = np.array([[False, True], [False, False]])
    >>> output, weights = multi_head_attention(x, params, 2, hidden)
    >>> weights[0, 1].round(3)  # of the second head
    array([[1.   , 0.   ],
           [0.018, 0.982]])
    >>> output.round(3)
    array([[[1.   , 0.   ],
            [1.   , 1.964]]])
"""

import numpy as np


def multi_head_attention(
    x: np.ndarray, params: dict[str, np.ndarray], heads: int, blocked: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    raise NotImplementedError
