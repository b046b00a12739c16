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


def decode_step(token_ids: np.ndarray, cache: Any, params: dict, heads: int) -> tuple[np.ndarray, Any]:
    raise NotImplementedError
