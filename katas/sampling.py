"""Sampling · 10 minutes

Write `next_token(logits, temperature=1.0, top_k=None, top_p=None, rng=None)`,
which draws a token id for each row of logits (B, V) and returns them as (B,),
and `generate(ids, steps, params, heads, temperature=0.0, top_k=None,
top_p=None, rng=None)`, which goes on with the prompts ids (B, T), token by
token, and returns each prompt with what follows it. The model is that of
gpt_forward, with the same `params` and `heads`: bring your own along.

Contract
    The temperature divides the logits, before the softmax.
    top_k keeps the k most likely tokens. top_p then keeps the smallest set of
    most likely tokens whose probability reaches top_p: the token that crosses
    the threshold is kept. That probability is the one after temperature and
    top_k, renormalised. None keeps all.
    One token is drawn from what is kept, with its renormalised probability, and
    for each row by itself.
    temperature = 0 and top_k = 1 are greedy: the most likely token, no rng.
    rng is a numpy.random.Generator, the only source of chance: the same rng in
    the same state gives the same tokens.
    generate returns (B, T + steps), the prompts first. It feeds each token back
    and samples from the logits of the last position; greedy by default, with
    the options of next_token.
    Logits are finite, up to 1e4. Nothing that is passed in is modified; drawing
    from rng moves it on.
    Follow-up: all tokens that tie with the k-th are kept; T + steps beyond
    max_length, a missing rng where one is needed, logits or ids of another
    rank, temperature < 0, top_k < 1 and top_p outside (0, 1] raise ValueError.

    >>> logits = np.log(np.array([[0.5, 0.3, 0.2], [0.1, 0.1, 0.8]]))
    >>> next_token(logits, temperature=0)
    array([0, 2])
    >>> next_token(logits, top_p=0.4, rng=np.random.default_rng(0))
    array([0, 2])
    >>> square = np.cos(np.arange(16.0)).reshape(4, 4)
    >>> layer = dict.fromkeys(("wq", "wk", "wv", "wo", "w1", "w2"), square)
    >>> params = {"token_embedding": np.sin(np.arange(20.0)).reshape(5, 4)}
    >>> params["position_embedding"] = np.cos(np.arange(32.0)).reshape(8, 4)
    >>> params["layers"] = [layer]
    >>> generate(np.array([[1, 0], [2, 3]]), 4, params, heads=2)
    array([[1, 0, 2, 2, 2, 2],
           [2, 3, 3, 1, 2, 2]])
"""

import numpy as np


def next_token(
    logits: np.ndarray,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    raise NotImplementedError


def generate(
    ids: np.ndarray,
    steps: int,
    params: dict,
    heads: int,
    temperature: float = 0.0,
    top_k: int | None = None,
    top_p: float | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    raise NotImplementedError
