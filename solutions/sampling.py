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


def attention(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    q = split_heads(x @ params["wq"], heads)
    k = split_heads(x @ params["wk"], heads)
    v = split_heads(x @ params["wv"], heads)
    T, dh = q.shape[-2:]
    scores = q @ k.swapaxes(-1, -2) / dh**0.5  # (B, H, T, T): queries down, keys across
    future = np.triu(np.ones((T, T), dtype=bool), k=1)
    scores = np.where(future, -np.inf, scores)
    weights = softmax(scores)
    context = weights @ v  # (B, H, T, dh)
    return merge_heads(context) @ params["wo"]


def feed_forward(x: np.ndarray, params: dict[str, np.ndarray]) -> np.ndarray:
    return gelu(x @ params["w1"]) @ params["w2"]  # (B, T, d) -> (B, T, f) -> (B, T, d)


def block(x: np.ndarray, params: dict[str, np.ndarray], heads: int) -> np.ndarray:
    x = x + attention(layer_norm(x), params, heads)
    x = x + feed_forward(layer_norm(x), params)
    return x


def embed(ids: np.ndarray, token_embedding: np.ndarray, position_embedding: np.ndarray) -> np.ndarray:
    T = ids.shape[1]
    tokens = token_embedding[ids]  # (B, T, d)
    positions = position_embedding[:T]  # (T, d), the same in every row of the batch
    return tokens + positions


def tied_logits(hidden: np.ndarray, token_embedding: np.ndarray) -> np.ndarray:
    normed = layer_norm(hidden)
    return normed @ token_embedding.T  # (B, T, d) @ (d, V)


def gpt_forward(ids: np.ndarray, params: dict, heads: int) -> np.ndarray:
    x = embed(ids, params["token_embedding"], params["position_embedding"])
    for layer in params["layers"]:
        x = block(x, layer, heads)
    return tied_logits(x, params["token_embedding"])


def check_options(temperature: float, top_k: int | None, top_p: float | None, rng: np.random.Generator | None) -> None:
    if temperature < 0 or (top_k is not None and top_k < 1) or (top_p is not None and not 0 < top_p <= 1):
        raise ValueError(f"temperature {temperature}, top_k {top_k} and top_p {top_p}: >= 0, >= 1 and in (0, 1]")
    if temperature > 0 and top_k != 1 and rng is None:
        raise ValueError("drawing needs an rng")


def next_token(
    logits: np.ndarray,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    rng: np.random.Generator | None = None,
) -> np.ndarray:
    check_options(temperature, top_k, top_p, rng)
    if logits.ndim != 2:
        raise ValueError(f"logits must be (B, V), not {logits.shape}")
    if temperature == 0 or top_k == 1:
        return logits.argmax(axis=-1)
    scores = logits / temperature
    if top_k is not None and top_k < scores.shape[-1]:
        kth = np.sort(scores, axis=-1)[:, -top_k, None]  # (B, 1)
        scores = np.where(scores < kth, -np.inf, scores)
    probs = softmax(scores)
    if top_p is not None:
        order = np.argsort(-probs, axis=-1)
        ranked = np.take_along_axis(probs, order, axis=-1)
        before = np.cumsum(ranked, axis=-1) - ranked  # what the more likely ones hold
        kept = np.where(before < top_p, ranked, 0)
        np.put_along_axis(probs, order, kept, axis=-1)
    total = np.cumsum(probs, axis=-1)
    drawn = rng.random((len(probs), 1)) * total[:, -1:]  # (B, 1), up to what was kept
    return (total <= drawn).sum(axis=-1)


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
    if ids.ndim != 2 or ids.shape[1] + steps > len(params["position_embedding"]):
        raise ValueError(f"ids {ids.shape} and {steps} steps do not fit {len(params['position_embedding'])} positions")
    for _ in range(steps):
        logits = gpt_forward(ids, params, heads)[:, -1]  # (B, V): the last position predicts the next
        token = next_token(logits, temperature, top_k, top_p, rng)
        ids = np.concatenate([ids, token[:, None]], axis=1)
    return ids
