"""Encoder-decoder: the decoder · 30 minutes

Write the decoder of an encoder-decoder transformer, from embedded tokens to
the scores of the vocabulary, in three functions.

`decoder_layer(x, memory, params, heads, memory_blocked=None,
target_blocked=None)` is one layer: masked self-attention, cross-attention over
the source, feed-forward. `decoder(x, memory, layers, heads, gamma, beta,
memory_blocked=None, target_blocked=None)` is the stack; `layers` is a list of
such `params`. `generator(x, projection, bias)` is what follows it.

x is (B, T, d) and the encoder's output `memory` is (B, S, d); a layer and the
stack return (B, T, d), the generator (B, T, V). A layer's `params` hold wq, wk,
wv and wo for self-attention and cq, ck, cv and co for cross-attention, each
(d, d); w1 (d, f), c1 (f,), w2 (f, d) and c2 (d,) for the feed-forward; and for
the norms g1 b1, g2 b2 and g3 b3, each (d,), in order of use. gamma and beta are
(d,), projection is (d, V) and bias (V,).

Contract
    Pre-norm, three times: x = x + self(LN(x; g1, b1)), then
    x = x + cross(LN(x; g2, b2), memory), then x = x + ffn(LN(x; g3, b3)). The
    residual adds the x that was not normalised.
    The stack runs its layers in order, each with the same memory, and ends in
    one more norm, LN(x; gamma, beta). A layer alone does not end in one. The
    encoder has normalised memory already: use it as it is.
    LN: over the last axis, biased variance (ddof=0), eps = 1e-5 inside the
    root, then times the gain, plus the bias.
    Attention: head h takes the features h*dh to (h+1)*dh; the scores are
    q k^T / sqrt(dh); softmax over the keys; the heads side by side again, times
    wo or co. Cross-attention takes q from x, and k and v from memory.
    Masks are boolean, True = blocked, hidden before the softmax, and None adds
    nothing. memory_blocked goes to cross-attention and broadcasts to
    (B, H, T, S). Self-attention is always causal (query i must not see key
    j > i); target_blocked broadcasts to (B, H, T, T) and is or-ed with that.
    ffn(x) = relu(x @ w1 + c1) @ w2 + c2.
    generator(x) = log_softmax(x @ projection + bias) over V, finite also for
    logits of +-1e4.
    Evaluation mode: no dropout. Positions come with the embedding, elsewhere.
    Weights multiply from the right (x @ w); a torch `Linear` holds each of them
    transposed. Nothing that is passed in is modified.
    Follow-up: a query with nothing to see may come out as anything, but no NaN
    of it may reach another position; heads that do not divide d, a wrong rank
    and widths that do not fit raise ValueError; float32 in gives float32 out.

    >>> eye, one, zero = np.eye(2), np.ones(2), np.zeros(2)
    >>> params = {a + b: eye for a in "wc" for b in "qkvo"}
    >>> params |= {"w1": eye, "c1": zero, "w2": eye, "c2": zero}
    >>> params |= {"g1": one, "b1": zero, "g2": one, "b2": zero}
    >>> params |= {"g3": one, "b3": zero}
    >>> x = np.array([[[1.0, 3.0], [5.0, 1.0]]])  # 2 tokens of 2 features
    >>> memory = np.array([[[2.0, 0.0], [9.0, 9.0]]])
    >>> blocked = np.array([[[[False, True]]]])  # of the source, the second
    >>> decoder_layer(x, memory, params, 1, blocked).round(3)
    array([[[2.   , 5.   ],
            [8.888, 0.112]]])
    >>> decoder(x, memory, [params, params], 1, one, zero, blocked).round(3)
    array([[[-1.,  1.],
            [ 1., -1.]]])
    >>> generator(np.array([[[1.0, 1e4]]]), eye, zero)
    array([[[-9999.,     0.]]])
"""

import numpy as np


def decoder_layer(
    x: np.ndarray,
    memory: np.ndarray,
    params: dict[str, np.ndarray],
    heads: int,
    memory_blocked: np.ndarray | None = None,
    target_blocked: np.ndarray | None = None,
) -> np.ndarray:
    raise NotImplementedError


def decoder(
    x: np.ndarray,
    memory: np.ndarray,
    layers: list[dict[str, np.ndarray]],
    heads: int,
    gamma: np.ndarray,
    beta: np.ndarray,
    memory_blocked: np.ndarray | None = None,
    target_blocked: np.ndarray | None = None,
) -> np.ndarray:
    raise NotImplementedError


def generator(x: np.ndarray, projection: np.ndarray, bias: np.ndarray) -> np.ndarray:
    raise NotImplementedError
