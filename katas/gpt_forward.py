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


def gpt_forward(ids: np.ndarray, params: dict, heads: int) -> np.ndarray:
    raise NotImplementedError
